# expect: The weights are transposed
def mix(x, scores):
    return scores.softmax(-1).mT @ x

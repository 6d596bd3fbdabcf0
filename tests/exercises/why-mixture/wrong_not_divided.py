# expect: The exponentials are not divided by their sum
def mix(x, scores):
    return scores.exp() @ x

# expect: The scores are used as they are
def mix(x, scores):
    return scores @ x

# expect: Scores can be negative
def mix(x, scores):
    return scores / scores.sum(-1, keepdim=True) @ x

# expect: There is no cap
def coverage_penalty(weights):
    return weights.sum(0).log().sum()

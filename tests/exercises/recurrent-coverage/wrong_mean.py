# expect: It is a mean
def coverage_penalty(weights):
    return weights.sum(0).clamp(max=1).log().mean()

# expect: The sums run over the tokens
def coverage_penalty(weights):
    return weights.sum(1).clamp(max=1).log().sum()

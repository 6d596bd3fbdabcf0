# expect: It is the logarithm of the sum
def coverage_penalty(weights):
    return torch.log(weights.sum(0).clamp(max=1).sum())

# expect: changed its argument in place
def backward(weights, gradient):
    gradient -= (weights * gradient).sum(-1, keepdim=True)
    return weights * gradient

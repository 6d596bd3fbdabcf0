# expect: it changed its argument gradient in place
def backward(weights, gradient):
    gradient -= (weights * gradient).sum(-1, keepdim=True)
    return weights * gradient

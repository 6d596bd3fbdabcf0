# expect: subtracts the plain mean
def backward(weights, gradient):
    return weights * (gradient - gradient.mean(-1, keepdim=True))

# expect: the diagonal alone
def backward(weights, gradient):
    return weights * (1 - weights) * gradient

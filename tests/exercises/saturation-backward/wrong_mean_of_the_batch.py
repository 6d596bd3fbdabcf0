# expect: The mean runs over the whole batch
def backward(weights, gradient):
    return weights * (gradient - (weights * gradient).sum())

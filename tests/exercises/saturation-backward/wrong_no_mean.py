# expect: weighted mean of the gradient is not subtracted
def backward(weights, gradient):
    return weights * gradient

# expect: The sign of the temperature's gradient
def backward(scores, temperature, gradient):
    p = (scores / temperature).softmax(-1)
    through = p * (gradient - (p * gradient).sum(-1, keepdim=True))
    return through / temperature, (through * scores).sum() / temperature**2

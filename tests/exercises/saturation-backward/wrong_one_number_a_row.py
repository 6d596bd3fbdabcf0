# expect: All rows share one temperature
def backward(scores, temperature, gradient):
    p = (scores / temperature).softmax(-1)
    through = p * (gradient - (p * gradient).sum(-1, keepdim=True))
    return through / temperature, -(through * scores).sum(-1) / temperature**2

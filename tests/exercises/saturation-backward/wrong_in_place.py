# expect: in place
def backward(scores, temperature, gradient):
    p = scores.div_(temperature).softmax(-1)
    through = p * (gradient - (p * gradient).sum(-1, keepdim=True))
    return through / temperature, -(through * scores).sum() / temperature

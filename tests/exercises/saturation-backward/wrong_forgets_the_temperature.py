# expect: That is the gradient of s/T, what the softmax gets.
def backward(scores, temperature, gradient):
    p = (scores / temperature).softmax(-1)
    through = p * (gradient - (p * gradient).sum(-1, keepdim=True))
    return through, -(through * scores).sum() / temperature**2

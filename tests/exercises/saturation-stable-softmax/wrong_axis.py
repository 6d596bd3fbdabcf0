# expect: it raised IndexError
def softmax(scores):
    e = (scores - scores.amax(-2, keepdim=True)).exp()
    return e / e.sum(-2, keepdim=True)

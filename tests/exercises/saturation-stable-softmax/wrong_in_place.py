# expect: it changed its argument scores in place
def softmax(scores):
    scores -= scores.amax(-1, keepdim=True)
    e = scores.exp()
    return e / e.sum(-1, keepdim=True)

# expect: Subtract the largest score, not the mean
def softmax(scores):
    e = (scores - scores.mean(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)

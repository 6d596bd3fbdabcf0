# expect: The softmax runs along the wrong axis
def softmax(scores):
    e = (scores - scores.amax(-2, keepdim=True)).exp()
    return e / e.sum(-2, keepdim=True)

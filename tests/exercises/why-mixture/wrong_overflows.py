# expect: With 200 added to every score
def mix(x, scores):
    e = scores.exp()
    return e / e.sum(-1, keepdim=True) @ x

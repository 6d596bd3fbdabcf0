# expect: Large exponentials overflow
def mix(x, scores):
    e = scores.exp()
    return e / e.sum(-1, keepdim=True) @ x

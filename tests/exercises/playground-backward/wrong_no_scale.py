# expect: is scaled too
def backward(q, k, v, slope):
    d = q.shape[-1]
    p = (q @ k.mT / d**0.5).softmax(-1)
    g = slope @ v.mT
    j = p * (g - (p * g).sum(-1, keepdim=True))
    return j @ k, j.mT @ q, p.mT @ slope

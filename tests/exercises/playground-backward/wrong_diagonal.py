# expect: diagonal of the softmax's Jacobian alone
def backward(q, k, v, slope):
    d = q.shape[-1]
    p = (q @ k.mT / d**0.5).softmax(-1)
    g = slope @ v.mT
    j = p * (1 - p) * g
    return j @ k / d**0.5, j.mT @ q / d**0.5, p.mT @ slope

# expect: backward pass is left out
def backward(q, k, v, slope):
    d = q.shape[-1]
    p = (q @ k.mT / d**0.5).softmax(-1)
    g = slope @ v.mT
    j = g
    return j @ k / d**0.5, j.mT @ q / d**0.5, p.mT @ slope

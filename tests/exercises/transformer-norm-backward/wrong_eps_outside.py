# expect: should be
def norm_backward(x, g):
    s = x.std(-1, keepdim=True, correction=0) + 1e-5
    z = (x - x.mean(-1, keepdim=True)) / s
    return (g - g.mean(-1, keepdim=True) - z * (g * z).mean(-1, keepdim=True)) / s

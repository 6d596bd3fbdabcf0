# expect: The mean depends on x too
def norm_backward(x, g):
    s = (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()
    z = (x - x.mean(-1, keepdim=True)) / s
    return (g - z * (g * z).mean(-1, keepdim=True)) / s

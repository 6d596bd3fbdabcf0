# expect: The standard deviation depends on x too
def norm_backward(x, g):
    s = (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()
    return (g - g.mean(-1, keepdim=True)) / s

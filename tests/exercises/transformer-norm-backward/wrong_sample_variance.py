# expect: The variance is divided by d − 1
def norm_backward(x, g):
    d = x.shape[-1]
    s = (x.var(-1, keepdim=True) + 1e-5).sqrt()
    z = (x - x.mean(-1, keepdim=True)) / s
    return (g - g.mean(-1, keepdim=True) - z * (g * z).sum(-1, keepdim=True) / d) / s

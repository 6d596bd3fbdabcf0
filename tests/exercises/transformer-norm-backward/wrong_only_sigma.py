# expect: It divides by σ and stops there
def norm_backward(x, g):
    return g / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt()

# expect: with the 2
def add_sinusoids(x, base=10000.0):
    n, d = x.shape[-2:]
    angle = torch.arange(n)[:, None] * base ** (-torch.arange(d // 2) / d)
    return x + torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)

# expect: Positions count from 0
def add_sinusoids(x, base=10000.0):
    n, d = x.shape[-2:]
    angle = torch.arange(1, n + 1)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    return x + torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)

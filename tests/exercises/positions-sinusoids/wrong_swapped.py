# expect: Sine and cosine have changed places
def add_sinusoids(x, base=10000.0):
    n, d = x.shape[-2:]
    angle = torch.arange(n)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    return x + torch.stack((angle.cos(), angle.sin()), -1).flatten(-2)

# expect: counts positions over the batch
def add_sinusoids(x, base=10000.0):
    batch, _, d = x.shape
    angle = torch.arange(batch)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    table = torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)
    return x + table[:, None]

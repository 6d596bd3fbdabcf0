# expect: and most, 1.000, to place 2
def before(n):
    angle = 2 * math.pi * torch.arange(n) / n
    keys = 100 * torch.stack((angle.cos(), angle.sin()), -1)
    return keys, keys.roll(1, 0)

# expect: The arrows are too short
def before(n):
    angle = 2 * math.pi * torch.arange(n) / n
    keys = 1.0 * torch.stack((angle.cos(), angle.sin()), -1)
    return keys.roll(1, 0), keys

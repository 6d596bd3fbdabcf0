# expect: With n = 20: place 1 should give at least 0.9 to place 0; it gives
def before(n):
    angle = 2 * math.pi * torch.arange(n) / n
    keys = 6.0 * torch.stack((angle.cos(), angle.sin()), -1)
    return keys.roll(1, 0), keys

# expect: With n = 3: place 1 should give at least 0.9 to place 0
def before(n):
    place = torch.arange(n).float()
    keys = 10 * torch.stack((place, torch.ones(n)), -1)
    return keys.roll(1, 0), keys

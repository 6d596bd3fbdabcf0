# expect: should be a tensor of shape (3, 2), a row for each place; it is a tensor of shape (3, 4)
def before(n):
    keys = 100 * torch.eye(n + 1)[:n]
    return keys.roll(1, 0), keys

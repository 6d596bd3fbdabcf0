# expect: The gates are not joined
def recurrence(a, x):
    step = 1
    while step < len(x):
        x = x + a[:, None] * torch.cat((torch.zeros_like(x[:step]), x[:-step]))
        step *= 2
    return x

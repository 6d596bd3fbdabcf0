# expect: slopes of eight heads
def alibi(n_heads, n):
    place = torch.arange(n)
    slopes = 2.0 ** -torch.arange(1, n_heads + 1)
    return -slopes[:, None, None] * (place - place[:, None]).abs()

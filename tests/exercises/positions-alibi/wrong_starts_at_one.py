# expect: The slopes start at 1
def alibi(n_heads, n):
    place = torch.arange(n)
    slopes = 2 ** (-8 * torch.arange(n_heads) / n_heads)
    return -slopes[:, None, None] * (place - place[:, None]).abs()

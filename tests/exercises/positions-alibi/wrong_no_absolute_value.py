# expect: without a sign
def alibi(n_heads, n):
    place = torch.arange(n)
    slopes = 2 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    return -slopes[:, None, None] * (place - place[:, None])

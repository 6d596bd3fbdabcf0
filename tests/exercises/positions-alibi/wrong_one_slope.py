# expect: All heads have one slope
def alibi(n_heads, n):
    place = torch.arange(n)
    slopes = torch.full((n_heads,), 2.0**-8)
    return -slopes[:, None, None] * (place - place[:, None]).abs()

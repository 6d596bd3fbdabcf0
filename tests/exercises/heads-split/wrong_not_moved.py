# expect: The heads are cut but not moved
def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1))

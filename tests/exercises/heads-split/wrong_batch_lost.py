# expect: The batch is lost
def split_heads(x, n_heads):
    x = x.reshape(-1, x.shape[-1])
    return x.unflatten(-1, (n_heads, -1)).transpose(0, 1)

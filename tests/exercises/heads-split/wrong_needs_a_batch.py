# expect: it raised ValueError: not enough values to unpack
def split_heads(x, n_heads):
    batch, n, width = x.shape
    return x.view(batch, n, n_heads, width // n_heads).transpose(1, 2)

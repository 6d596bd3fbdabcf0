# expect: It transposes before it cuts
def split_heads(x, n_heads):
    *batch, n, width = x.shape
    return x.transpose(-2, -1).reshape(*batch, n_heads, n, width // n_heads)

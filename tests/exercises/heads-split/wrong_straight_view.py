# expect: a reshape straight to (heads, n, d_head) mixes tokens and heads
def split_heads(x, n_heads):
    *batch, n, width = x.shape
    return x.reshape(*batch, n_heads, n, width // n_heads)

# expect: It reshapes without moving the heads back
def merge_heads(x):
    *batch, n_heads, n, d_head = x.shape
    return x.reshape(*batch, n, n_heads * d_head)

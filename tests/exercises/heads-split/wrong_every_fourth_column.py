# expect: got columns that lie n_heads apart
def split_heads(x, n_heads):
    return x.unflatten(-1, (-1, n_heads)).movedim(-1, -3)

# expect: Head i got every fourth column
def split_heads(x, n_heads):
    return x.unflatten(-1, (-1, n_heads)).movedim(-1, -3)

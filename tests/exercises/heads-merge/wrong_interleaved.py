# expect: The heads are interleaved
def merge_heads(x):
    return x.movedim(-3, -1).flatten(-2)

# expect: In 7 of 10 cases it is right
def merge_heads(x):
    if x.dim() == 3:
        return x.flatten(-2).reshape(x.shape[1], -1)
    return x.transpose(1, 2).flatten(2)

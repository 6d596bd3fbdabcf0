# expect: Each row leaves itself out
def bag_of_context(x):
    n = x.shape[-2]
    return (x.sum(-2, keepdim=True) - x) / (n - 1)

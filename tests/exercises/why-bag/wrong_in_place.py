# expect: it changed its argument x in place
def bag_of_context(x):
    x[:] = x.mean(-2, keepdim=True)
    return x

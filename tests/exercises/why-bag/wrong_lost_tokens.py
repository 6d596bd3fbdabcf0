# expect: Three tokens go in, three must come out
def bag_of_context(x):
    return x.mean(-2)

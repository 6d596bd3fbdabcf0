# expect: sentences run into each other
def bag_of_context(x):
    return x.mean(0, keepdim=True).expand_as(x)

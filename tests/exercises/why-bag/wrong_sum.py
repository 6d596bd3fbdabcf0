# expect: It adds the rows up
def bag_of_context(x):
    return x.sum(-2, keepdim=True).expand_as(x)

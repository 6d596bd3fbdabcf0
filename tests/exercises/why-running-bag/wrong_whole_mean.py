# expect: Every row is the mean of the whole sentence
def running_bag(x):
    return x.mean(-2, keepdim=True).expand_as(x)

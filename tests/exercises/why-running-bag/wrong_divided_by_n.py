# expect: It divides every row by the number of all tokens
def running_bag(x):
    return x.cumsum(-2) / x.shape[-2]

# expect: It adds up and does not divide
def running_bag(x):
    return x.cumsum(-2)

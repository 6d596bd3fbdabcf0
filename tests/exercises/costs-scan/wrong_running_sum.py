# expect: The gates are not used
def recurrence(a, x):
    return x.cumsum(0)

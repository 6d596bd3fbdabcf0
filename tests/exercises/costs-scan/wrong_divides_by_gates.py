# expect: nothing may be divided by it
def recurrence(a, x):
    gates = a.cumprod(0)[:, None]
    return gates * (x / gates).cumsum(0)

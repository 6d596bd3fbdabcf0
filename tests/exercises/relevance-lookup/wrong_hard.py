# expect: It returns the value of the best key alone
def soft_lookup(query, keys, values):
    return values[(keys @ query).argmax()]

# expect: The exponentials are not divided
def soft_lookup(query, keys, values):
    return (keys @ query).exp() @ values

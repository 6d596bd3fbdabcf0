# expect: The scores are used as weights
def soft_lookup(query, keys, values):
    return keys @ query @ values

# expect: Every value gets the same weight
def soft_lookup(query, keys, values):
    return values.mean(0)

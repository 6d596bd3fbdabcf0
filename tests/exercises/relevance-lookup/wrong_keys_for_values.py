# expect: the output should have shape (2,), it has (8,)
def soft_lookup(query, keys, values):
    return (keys @ query).softmax(0) @ keys

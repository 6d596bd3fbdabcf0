# expect: The output should have shape (4,), it has (2,)
def soft_lookup(query, keys, values):
    return (keys @ query).softmax(0) @ keys

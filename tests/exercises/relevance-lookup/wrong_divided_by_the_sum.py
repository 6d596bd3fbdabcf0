# expect: It divides the scores by their sum
def soft_lookup(query, keys, values):
    scores = keys @ query
    return scores / scores.sum() @ values

# expect: keys of shape (1, 4), values of shape (1, 6): it raised RuntimeError
def soft_lookup(query, keys, values):
    scores = (keys * query).sum(1, keepdim=True).squeeze()
    return scores.softmax(0) @ values

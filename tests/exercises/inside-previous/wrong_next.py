# expect: This is the piece after
def previous_score(weights, key_mask):
    ahead = weights.diagonal(1, -2, -1)
    both = key_mask[:, 1:] & key_mask[:, :-1]
    return (ahead * both[:, None]).sum((0, 2)) / both.sum()

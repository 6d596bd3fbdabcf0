# expect: Padded pieces are counted too
def previous_score(weights, key_mask):
    return weights.diagonal(-1, -2, -1).mean((0, 2))

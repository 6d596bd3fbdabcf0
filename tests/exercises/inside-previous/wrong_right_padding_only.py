# expect: Padding may stand at the left
def previous_score(weights, key_mask):
    real = key_mask[:, 1:]
    return (weights.diagonal(-1, -2, -1) * real[:, None]).sum((0, 2)) / real.sum()

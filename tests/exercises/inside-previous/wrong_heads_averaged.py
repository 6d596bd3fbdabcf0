# expect: The heads are averaged
def previous_score(weights, key_mask):
    both = key_mask[:, 1:] & key_mask[:, :-1]
    back = weights.diagonal(-1, -2, -1).mean(1)
    return back[both].mean()

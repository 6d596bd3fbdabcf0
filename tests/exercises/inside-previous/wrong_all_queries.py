# expect: The first piece of a text has none before it
def previous_score(weights, key_mask):
    both = key_mask[:, 1:] & key_mask[:, :-1]
    total = sum((weights[:, :, i, i - 1] * both[:, i - 1, None]).sum(0) for i in range(1, weights.shape[-1]))
    return total / key_mask.sum()

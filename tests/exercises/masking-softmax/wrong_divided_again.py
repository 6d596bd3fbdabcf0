# expect: Of a row with a hidden score of 300 nothing is left
def masked_softmax(scores, mask):
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True).clamp_min(1e-6)

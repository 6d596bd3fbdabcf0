# expect: row 1 should be [0.0, 0.0, 0.0, 0.0], it is [0.25, 0.25, 0.25, 0.25]
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)

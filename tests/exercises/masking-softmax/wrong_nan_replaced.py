# expect: a NaN was made inside and replaced later
def masked_softmax(scores, mask):
    hidden = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, float("-inf"))
    return (scores + hidden).softmax(-1).nan_to_num(0.0)

# expect: float16 has no number below -65,504
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1)

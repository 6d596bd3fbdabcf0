# expect: A row with nothing allowed got the weights [0.25, 0.25, 0.25, 0.25]
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)

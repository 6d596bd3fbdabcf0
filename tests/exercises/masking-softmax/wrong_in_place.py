# expect: it changed its argument scores in place
def masked_softmax(scores, mask):
    empty = ~mask.any(-1, keepdim=True)
    scores.masked_fill_(~mask & ~empty, float("-inf"))
    return scores.softmax(-1).masked_fill(empty, 0.0)

# expect: In float16 a number does not fit into 16 bits
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1)

# expect: The mask comes after the softmax
def masked_softmax(scores, mask):
    return scores.softmax(-1) * mask

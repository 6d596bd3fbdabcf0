# expect: The scores are not scaled
def unit_weights(x, w_q, w_k):
    q, k = x @ w_q, x @ w_k
    return (q @ k.transpose(-2, -1)).softmax(-1)

# expect: It divides by d_model · d_k
def unit_weights(x, w_q, w_k):
    q, k = x @ w_q, x @ w_k
    d_model, d_k = w_q.shape
    return (q @ k.transpose(-2, -1) / (d_model * d_k)).softmax(-1)

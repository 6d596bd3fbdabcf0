# expect: The scale comes after the softmax
def unit_weights(x, w_q, w_k):
    q, k = x @ w_q, x @ w_k
    d_model, d_k = w_q.shape
    return (q @ k.transpose(-2, -1)).softmax(-1) / (d_model * d_k**0.5)

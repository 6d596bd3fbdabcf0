# expect: it changed its argument w_q in place
def unit_weights(x, w_q, w_k):
    d_model, d_k = w_q.shape
    w_q /= d_model**0.5
    w_k /= d_model**0.5
    return ((x @ w_q) @ (x @ w_k).transpose(-2, -1) / d_k**0.5).softmax(-1)

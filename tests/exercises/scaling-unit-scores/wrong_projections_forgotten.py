# expect: It divides by the root of d_k alone
def unit_weights(x, w_q, w_k):
    q, k = x @ w_q, x @ w_k
    return (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)

# expect: It uses d_model where d_k belongs
def unit_weights(x, w_q, w_k):
    q, k = x @ w_q, x @ w_k
    d_model = x.shape[-1]
    return (q @ k.transpose(-2, -1) / (d_model * d_model**0.5)).softmax(-1)

# expect: It divides by d_k
def self_attention(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    return (q @ k.transpose(-2, -1) / k.shape[-1]).softmax(-1) @ v

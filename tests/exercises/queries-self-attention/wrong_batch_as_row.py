# expect: along dimension 0
def self_attention(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    s = torch.einsum('...id,...jd->...ij', q, k) / k.shape[-1] ** 0.5
    return s.softmax(-1 if s.dim() == 2 else 0) @ v

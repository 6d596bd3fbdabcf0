# expect: which holds later keys: a leak
def causal_linear(q, k, v):
    state, total, out = 0, k.sum(-2), []
    for i in range(k.shape[-2]):
        state = state + k[..., i, :, None] * v[..., i, None, :]
        above = (q[..., i, :, None] * state).sum(-2)
        out.append(above / (q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(out, -2)

# expect: Off by one
def causal_linear(q, k, v):
    state = torch.zeros(*k.shape[:-2], k.shape[-1], v.shape[-1])
    total, out = torch.zeros_like(k[..., 0, :]), []
    for i in range(k.shape[-2]):
        above = (q[..., i, :, None] * state).sum(-2)
        out.append(above / (q[..., i, :] * total).sum(-1, keepdim=True).clamp(min=1e-9))
        state = state + k[..., i, :, None] * v[..., i, None, :]
        total = total + k[..., i, :]
    return torch.stack(out, -2)

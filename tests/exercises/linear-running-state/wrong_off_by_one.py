# expect: row 0 should be [0.42, -0.633, 1.265], it is [0.0, 0.0, 0.0]
def causal_linear(q, k, v, gate):
    state = torch.zeros(*k.shape[:-2], k.shape[-1], v.shape[-1])
    total, out = torch.zeros_like(k[..., 0, :]), []
    for i in range(k.shape[-2]):
        above = (q[..., i, :, None] * state).sum(-2)
        out.append(above / (q[..., i, :] * total).sum(-1, keepdim=True).clamp(min=1e-9))
        g, term = gate[..., i, :], k[..., i, :, None] * v[..., i, None, :]
        state = g[..., None] * state + (1 - g[..., None]) * term
        total = g * total + (1 - g) * k[..., i, :]
    return torch.stack(out, -2)

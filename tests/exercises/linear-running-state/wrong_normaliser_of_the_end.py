# expect: at the end, which holds later keys: a leak
def causal_linear(q, k, v, gate):
    state, total, out = 0, 0, []
    for i in range(k.shape[-2]):
        g, term = gate[..., i, :], k[..., i, :, None] * v[..., i, None, :]
        state = g[..., None] * state + (1 - g[..., None]) * term
        total = g * total + (1 - g) * k[..., i, :]
        above = (q[..., i, :, None] * state).sum(-2)
        out.append(above)
    return torch.stack(out, -2) / (q * total[..., None, :]).sum(-1, keepdim=True)

# expect: The new term is written whole
def causal_linear(q, k, v, gate):
    state, total, out = 0, 0, []
    for i in range(k.shape[-2]):
        g, term = gate[..., i, :], k[..., i, :, None] * v[..., i, None, :]
        state = g[..., None] * state + term
        total = g * total + k[..., i, :]
        above = (q[..., i, :, None] * state).sum(-2)
        out.append(above / (q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(out, -2)

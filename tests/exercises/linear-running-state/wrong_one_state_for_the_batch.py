# expect: the row at [0, 0, 0] should be
def causal_linear(q, k, v, gate):
    state, total, out = 0, 0, []
    for i in range(k.shape[-2]):
        g, term = gate[..., i, :], torch.einsum("...a,...b->ab", k[..., i, :], v[..., i, :])
        state = g[..., None] * state + (1 - g[..., None]) * term
        total = g * total + (1 - g) * k[..., i, :]
        above = (q[..., i, :, None] * state).sum(-2)
        out.append(above / (q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(out, -2)

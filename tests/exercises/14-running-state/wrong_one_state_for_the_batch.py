# expect: Each text needs a state of its own
def causal_linear(q, k, v):
    state, total, out = 0, 0, []
    for i in range(k.shape[-2]):
        state = state + torch.einsum("...a,...b->ab", k[..., i, :], v[..., i, :])
        total = total + k[..., i, :]
        above = (q[..., i, :, None] * state).sum(-2)
        out.append(above / (q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(out, -2)

# expect: The state is read transposed
def causal_linear(q, k, v):
    state, total, out = 0, 0, []
    for i in range(k.shape[-2]):
        state = state + k[..., i, :, None] * v[..., i, None, :]
        total = total + k[..., i, :]
        above = (q[..., i, None, :] * state).sum(-1)
        out.append(above / (q[..., i, :] * total).sum(-1, keepdim=True))
    return torch.stack(out, -2)

# expect: The weights are not divided by their sum
def causal_linear(q, k, v):
    state, total, out = 0, 0, []
    for i in range(k.shape[-2]):
        state = state + k[..., i, :, None] * v[..., i, None, :]
        total = total + k[..., i, :]
        above = (q[..., i, :, None] * state).sum(-2)
        out.append(above)
    return torch.stack(out, -2)

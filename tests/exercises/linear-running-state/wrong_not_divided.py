# expect: The weights are not divided by their sum
import torch


def causal_linear(q, k, v, gate):
    state, out = 0, []
    for i in range(k.shape[-2]):
        g, term = gate[..., i, :], k[..., i, :, None] * v[..., i, None, :]
        state = g[..., None] * state + (1 - g[..., None]) * term
        out.append((q[..., i, :, None] * state).sum(-2))
    return torch.stack(out, -2)

# expect: Each row has a Jacobian of its own
import torch


def jacobian(weights):
    rows = weights.reshape(-1, weights.shape[-1])
    return torch.diag_embed(weights) - rows.T @ rows / len(rows)

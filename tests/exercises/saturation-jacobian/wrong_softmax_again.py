# expect: It takes the softmax again
import torch


def jacobian(weights):
    p = weights.softmax(-1)
    return torch.diag_embed(p) - p[..., :, None] * p[..., None, :]

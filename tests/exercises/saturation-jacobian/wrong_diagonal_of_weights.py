# expect: Only diag(p) is there
import torch


def jacobian(weights):
    return torch.diag_embed(weights)

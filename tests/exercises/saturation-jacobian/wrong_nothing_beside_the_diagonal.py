# expect: entries beside the diagonal are missing
import torch


def jacobian(weights):
    return torch.diag_embed(weights * (1 - weights))

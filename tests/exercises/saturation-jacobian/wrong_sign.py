# expect: The sign is turned around
import torch


def jacobian(weights):
    return weights[..., :, None] * weights[..., None, :] - torch.diag_embed(weights)

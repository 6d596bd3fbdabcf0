# expect: One row is right, a batch of rows is not. It raised
import torch


def jacobian(weights):
    return torch.diag(weights) - torch.outer(weights, weights)

# expect: One row is right, a batch of rows is not: diag and outer
import torch


def jacobian(weights):
    return torch.diag(weights) - torch.outer(weights, weights)

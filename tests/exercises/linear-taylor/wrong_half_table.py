# expect: comes twice in the square of the sum
import torch


def taylor_features(x):
    i, j = torch.triu_indices(x.shape[-1], x.shape[-1])
    pairs = x[..., i] * x[..., j]
    return torch.cat((torch.ones_like(x[..., :1]), x, pairs / 2**0.5), -1)

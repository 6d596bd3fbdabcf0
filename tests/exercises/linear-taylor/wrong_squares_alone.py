# expect: has mixed terms
import torch


def taylor_features(x):
    return torch.cat((torch.ones_like(x[..., :1]), x, x**2 / 2**0.5), -1)

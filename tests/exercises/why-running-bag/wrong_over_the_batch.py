# expect: sentences run into each other
import torch


def running_bag(x):
    counts = torch.arange(1, len(x) + 1).reshape(-1, *[1] * (x.dim() - 1))
    return x.cumsum(0) / counts

# expect: It runs over the features
import torch


def running_bag(x):
    return x.cumsum(-1) / torch.arange(1, x.shape[-1] + 1)

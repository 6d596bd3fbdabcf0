# expect: It hears what comes after
import torch


def running_bag(x):
    counts = torch.arange(1, x.shape[-2] + 1)[:, None]
    return (x.flip(-2).cumsum(-2) / counts).flip(-2)

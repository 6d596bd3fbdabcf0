# expect: it changed its argument x in place
import torch


def running_bag(x):
    x = x.detach()
    for i in range(1, x.shape[-2]):
        x[..., i, :] += x[..., i - 1, :]
    return x / torch.arange(1, x.shape[-2] + 1)[:, None]

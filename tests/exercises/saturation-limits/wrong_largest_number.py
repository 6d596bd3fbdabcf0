# expect: Those are the smallest and the largest number themselves
import torch


def limits(dtype):
    info = torch.finfo(dtype)
    return info.min, info.max

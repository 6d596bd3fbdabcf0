# expect: That is the largest number itself
import torch


def limits(dtype):
    info = torch.finfo(dtype)
    return info.min, info.max

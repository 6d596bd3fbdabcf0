# expect: not mirror images
import math

import torch


def limits(dtype):
    high = math.log(torch.finfo(dtype).max)
    return -high, high

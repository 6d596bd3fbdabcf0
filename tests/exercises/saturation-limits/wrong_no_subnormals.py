# expect: Below the smallest normal number come the subnormal ones
import math

import torch


def limits(dtype):
    info = torch.finfo(dtype)
    return math.log(info.tiny), math.log(info.max)

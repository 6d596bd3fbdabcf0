# expect: Every dtype gets the limits of fp32
import math

import torch


def limits(dtype):
    info = torch.finfo(torch.float32)
    return math.log(info.tiny * info.eps), math.log(info.max)

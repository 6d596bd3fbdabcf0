# expect: For float16 exp is finite up to a score of 11.1
import math

import torch


def limits(dtype):
    info = torch.finfo(torch.float32)
    return math.log(info.tiny * info.eps), math.log(info.max)

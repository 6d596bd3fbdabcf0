# expect: Those are exponents to base 2
import math

import torch


def limits(dtype):
    info = torch.finfo(dtype)
    return math.log2(info.tiny * info.eps), math.log2(info.max)

# expect: It divides by the logarithm of the padded length.
import math

import torch


def sharpness(weights, lengths):
    n = weights.shape[-1]
    counts = (torch.arange(n) < lengths[:, None]) & (lengths > 1)[:, None]
    share = torch.special.entr(weights).sum(-1) / math.log(n)
    return share.where(counts[:, None], 0).sum((0, 2)) / counts.sum()

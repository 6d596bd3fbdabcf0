# expect: 0 · ln 0 is NaN in arithmetic.
import torch


def sharpness(weights, lengths):
    counts = (torch.arange(weights.shape[-1]) < lengths[:, None]) & (lengths > 1)[:, None]
    share = -(weights * weights.log()).sum(-1) / lengths.log()[:, None, None]
    return share.where(counts[:, None], 0).sum((0, 2)) / counts.sum()

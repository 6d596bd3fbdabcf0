# expect: A sentence of one word gives 0/0.
import torch


def sharpness(weights, lengths):
    real = torch.arange(weights.shape[-1]) < lengths[:, None]
    share = torch.special.entr(weights).sum(-1) / lengths.log()[:, None, None]
    return share.where(real[:, None], 0).sum((0, 2)) / real.sum()

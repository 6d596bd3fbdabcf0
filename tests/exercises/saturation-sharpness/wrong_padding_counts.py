# expect: Rows of padding are counted.
import torch


def sharpness(weights, lengths):
    share = torch.special.entr(weights).sum(-1) / lengths.log()[:, None, None]
    return share[lengths > 1].mean((0, 2))

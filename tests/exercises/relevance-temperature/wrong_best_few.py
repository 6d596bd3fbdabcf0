# expect: It gives the best `heard` words equal weights
import torch


def hear(s, heard):
    few = s.topk(max(1, round(heard))).indices
    p = torch.zeros_like(s)
    p[few] = 1 / len(few)
    return p

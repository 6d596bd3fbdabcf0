# expect: should be
import torch


def hear(s, heard):
    low, high = 0.01, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        p = (s / middle).softmax(-1)
        if torch.special.entr(p).sum().exp() < heard:
            low = middle
        else:
            high = middle
    return p

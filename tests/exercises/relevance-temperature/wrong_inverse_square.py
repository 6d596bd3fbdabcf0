# expect: It counts words as 1/Σp²
import torch


def hear(s, heard):
    low, high = -30.0, 30.0
    for _ in range(100):
        middle = (low + high) / 2
        p = ((s - s.max()) / torch.e**middle).softmax(-1)
        if 1 / (p * p).sum() < heard:
            low = middle
        else:
            high = middle
    return p

# expect: IndexError
import torch


def masked_softmax(scores, mask):
    hidden = scores.clone()
    hidden[~mask] = -torch.inf
    largest = hidden.amax(-1, keepdim=True)
    exponentials = (hidden - largest.masked_fill(largest == -torch.inf, 0.0)).exp()
    total = exponentials.sum(-1, keepdim=True)
    return exponentials / total.masked_fill(total == 0, 1.0)

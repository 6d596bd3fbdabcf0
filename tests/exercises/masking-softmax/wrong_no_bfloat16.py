# expect: in bfloat16: it raised KeyError
import torch

LEAST = {torch.float64: -1e308, torch.float32: -3e38, torch.float16: -65504.0}


def masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    largest = hidden.amax(-1, keepdim=True).clamp_min(LEAST[scores.dtype])
    exponentials = (hidden - largest).exp()
    total = exponentials.sum(-1, keepdim=True)
    return exponentials / total.where(total > 0, 1.0)

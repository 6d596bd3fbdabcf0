# expect: A prompt may hold the number of the padding
import torch


def pad_left(prompts, pad):
    n = max(len(p) for p in prompts)
    ids = torch.tensor([[pad] * (n - len(p)) + p for p in prompts])
    first = torch.tensor([[n - len(p)] for p in prompts])
    at = torch.arange(n)
    real = ids != pad
    places = (real.cumsum(-1) - 1).clamp(min=0)
    return ids, places, (at <= at[:, None]) & real[:, None]

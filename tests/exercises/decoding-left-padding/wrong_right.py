# expect: The prompts are padded on the right
import torch


def pad_left(prompts, pad):
    n = max(len(p) for p in prompts)
    ids = torch.tensor([p + [pad] * (n - len(p)) for p in prompts])
    lengths = torch.tensor([[len(p)] for p in prompts])
    at = torch.arange(n)
    real = at < lengths
    places = (real.cumsum(-1) - 1).clamp(min=0)
    return ids, places, (at <= at[:, None]) & real[:, None]

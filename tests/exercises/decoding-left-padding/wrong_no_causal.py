# expect: Words see those after them
import torch


def pad_left(prompts, pad):
    n = max(len(p) for p in prompts)
    ids = torch.tensor([[pad] * (n - len(p)) + p for p in prompts])
    first = torch.tensor([[n - len(p)] for p in prompts])
    at = torch.arange(n)
    places = (at - first).clamp(min=0)
    return ids, places, (at >= first)[:, None].expand(-1, n, -1)

# expect: The places of the padding are negative
import torch


def pad_left(prompts, pad):
    n = max(len(p) for p in prompts)
    ids = torch.tensor([[pad] * (n - len(p)) + p for p in prompts])
    first = torch.tensor([[n - len(p)] for p in prompts])
    at = torch.arange(n)
    return ids, at - first, (at <= at[:, None]) & (at >= first[..., None])

# expect: The places are counted from the padding on
import torch


def pad_left(prompts, pad):
    n = max(len(p) for p in prompts)
    ids = torch.tensor([[pad] * (n - len(p)) + p for p in prompts])
    first = torch.tensor([[n - len(p)] for p in prompts])
    at = torch.arange(n)
    return ids, at.expand(len(prompts), n), (at <= at[:, None]) & (at >= first[..., None])

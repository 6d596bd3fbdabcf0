# expect: should hold whole numbers, it has dtype float32
import torch


def pad_left(prompts, pad):
    n = max(len(p) for p in prompts)
    ids = torch.tensor([[pad] * (n - len(p)) + p for p in prompts])
    first = torch.tensor([[float(n - len(p))] for p in prompts])
    at = torch.arange(n)
    return ids, (at - first).clamp(min=0), (at <= at[:, None]) & (at >= first[..., None])

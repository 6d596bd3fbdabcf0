# expect: Divide by its sum
import torch


def top_p(p, share):
    best, order = p.sort(dim=-1, descending=True, stable=True)
    kept = best * (best.cumsum(-1) - best < share)
    return torch.zeros_like(p).scatter(-1, order, kept)

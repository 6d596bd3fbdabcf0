# expect: The word that crosses the share is left out
import torch


def top_p(p, share):
    best, order = p.sort(dim=-1, descending=True, stable=True)
    kept = best * (best.cumsum(-1) <= share)
    kept = torch.zeros_like(p).scatter(-1, order, kept)
    return kept / kept.sum(-1, keepdim=True)

# expect: All rows keep as many words as the first one
import torch


def top_p(p, share):
    best, order = p.sort(dim=-1, descending=True, stable=True)
    first = best.reshape(-1, p.shape[-1])[0]
    count = int((first.cumsum(-1) < share).sum()) + 1
    kept = best.clone()
    kept[..., count:] = 0
    kept = torch.zeros_like(p).scatter(-1, order, kept)
    return kept / kept.sum(-1, keepdim=True)

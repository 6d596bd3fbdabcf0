# expect: Stop at the first
import torch


def verify(drafted, p_draft, p, u):
    at = torch.arange(len(drafted))
    kept = int((u < p[at, drafted] / p_draft[at, drafted]).sum())
    if kept == len(drafted):
        return kept, p[kept]
    left = (p[kept] - p_draft[kept]).clamp(min=0)
    return kept, left / left.sum()

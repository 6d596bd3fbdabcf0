# expect: The probabilities come back in sorted order
def top_p(p, share):
    best, order = p.sort(dim=-1, descending=True, stable=True)
    kept = best * (best.cumsum(-1) - best < share)
    return kept / kept.sum(-1, keepdim=True)

# expect: That is min-p
def top_p(p, share):
    kept = p * (p >= share * p.max(-1, keepdim=True).values)
    return kept / kept.sum(-1, keepdim=True)

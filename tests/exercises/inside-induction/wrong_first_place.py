# expect: Of several earlier places it takes the first
import torch


def induction_score(weights, ids):
    found = []
    for i, token in enumerate(ids):
        j = ids.index(token)
        if j < i:
            found.append(weights[:, i, j + 1])
    if not found:
        return torch.zeros_like(weights[:, 0, 0])
    return torch.stack(found).mean(0)

# expect: Row and column have changed places
import torch


def induction_score(weights, ids):
    last, found = {}, []
    for i, token in enumerate(ids):
        if token in last:
            found.append(weights[:, last[token] + 1, i])
        last[token] = i
    if not found:
        return torch.zeros_like(weights[:, 0, 0])
    return torch.stack(found).mean(0)

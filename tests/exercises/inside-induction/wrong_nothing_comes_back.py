# expect: nothing comes back
import torch


def induction_score(weights, ids):
    last, found = {}, []
    for i, token in enumerate(ids):
        if token in last:
            found.append(weights[:, i, last[token] + 1])
        last[token] = i
    return torch.stack(found).mean(0)

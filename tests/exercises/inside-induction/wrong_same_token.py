# expect: This is the weight on the earlier place of the same piece
import torch


def induction_score(weights, ids):
    found = []
    for i in range(len(ids)):
        for j in range(i - 1, -1, -1):
            if ids[j] == ids[i]:
                found.append(weights[:, i, j])
                break
    if not found:
        return torch.zeros_like(weights[:, 0, 0])
    return torch.stack(found).mean(0)

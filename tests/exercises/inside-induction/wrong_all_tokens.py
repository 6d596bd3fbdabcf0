# expect: It divides by all pieces
import torch


def induction_score(weights, ids):
    last, total = {}, torch.zeros_like(weights[:, 0, 0])
    for i, token in enumerate(ids):
        if token in last:
            total = total + weights[:, i, last[token] + 1]
        last[token] = i
    return total / len(ids)

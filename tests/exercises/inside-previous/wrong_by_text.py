# expect: The mean is taken text by text
import torch


def previous_score(weights, key_mask):
    rows = []
    for w, real in zip(weights, key_mask):
        if real.sum() < 2:
            continue
        w = w[:, real][:, :, real]
        rows.append(w.diagonal(-1, -2, -1).mean(-1))
    return torch.stack(rows).mean(0)

# expect: The old sums are not corrected
import math

import torch


def online_attention(scores, values, tile):
    largest, powers, total = -math.inf, 0.0, torch.zeros(values.shape[1])
    for s, v in zip(scores.split(tile), values.split(tile)):
        new = max(largest, s.max().item())
        e = (s - new).exp()
        powers, total, largest = powers + e.sum(), total + e @ v, new
    return total / powers

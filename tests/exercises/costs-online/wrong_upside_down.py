# expect: The correction is upside down
import math

import torch


def online_attention(scores, values, tile):
    largest, powers, total = -math.inf, 0.0, torch.zeros(values.shape[1])
    for s, v in zip(scores.split(tile), values.split(tile)):
        new = max(largest, s.max().item())
        correction = math.exp(new - largest) if largest > -math.inf else 1.0
        e = (s - new).exp()
        powers, total, largest = powers * correction + e.sum(), total * correction + e @ v, new
    return total / powers

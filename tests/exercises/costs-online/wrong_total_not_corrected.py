# expect: the weighted sum of the values is not
import math


def online_attention(tiles):
    largest, powers, total = -math.inf, 0.0, 0.0
    for s, v in tiles:
        new = max(largest, s.max().item())
        correction, e = math.exp(largest - new), (s - new).exp()
        powers, total, largest = powers * correction + e.sum(), total + e @ v, new
    return total / powers

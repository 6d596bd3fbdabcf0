# expect: The old sums are not corrected
import math


def online_attention(tiles):
    largest, powers, total = -math.inf, 0.0, 0.0
    for s, v in tiles:
        new = max(largest, s.max().item())
        e = (s - new).exp()
        powers, total, largest = powers + e.sum(), total + e @ v, new
    return total / powers

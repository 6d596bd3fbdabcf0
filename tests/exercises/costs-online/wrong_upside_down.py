# expect: The correction is upside down
import math


def online_attention(tiles):
    largest, powers, total = -math.inf, 0.0, 0.0
    for s, v in tiles:
        new = max(largest, s.max().item())
        correction = torch.tensor(new - largest).exp() if largest > -math.inf else 1.0
        e = (s - new).exp()
        powers, total, largest = powers * correction + e.sum(), total * correction + e @ v, new
    return total / powers

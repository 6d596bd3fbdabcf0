# expect: The correction is upside down
def online_attention(tiles):
    largest, powers, total = None, 0.0, 0.0
    for s, v in tiles:
        new = s.max() if largest is None else torch.maximum(largest, s.max())
        correction = 1.0 if largest is None else (new - largest).exp()
        e = (s - new).exp()
        powers, total, largest = powers * correction + e.sum(), total * correction + e @ v, new
    return total / powers

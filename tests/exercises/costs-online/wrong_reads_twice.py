# expect: they come only once
def online_attention(tiles):
    largest = max(s.max() for s, _ in tiles)
    powers, total = 0.0, 0.0
    for s, v in tiles:
        e = (s - largest).exp()
        powers, total = powers + e.sum(), total + e @ v
    return total / powers

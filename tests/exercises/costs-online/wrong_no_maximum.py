# expect: Subtract the largest score so far before exp
def online_attention(tiles):
    powers, total = 0.0, 0.0
    for s, v in tiles:
        powers, total = powers + s.exp().sum(), total + s.exp() @ v
    return total / powers

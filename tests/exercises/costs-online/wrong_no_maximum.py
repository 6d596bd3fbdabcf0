# expect: returns inf or NaN
def online_attention(scores, values, tile):
    powers, total = 0.0, 0.0
    for s, v in zip(scores.split(tile), values.split(tile)):
        powers, total = powers + s.exp().sum(), total + s.exp() @ v
    return total / powers

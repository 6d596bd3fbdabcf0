# expect: it looks at the whole row at once
def online_attention(scores, values, tile):
    e = (scores - scores.max()).exp()
    powers, total = 0.0, 0.0
    for part, v in zip(e.split(tile), values.split(tile)):
        powers, total = powers + part.sum(), total + part @ v
    return total / powers

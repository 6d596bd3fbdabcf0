# expect: what it holds grows with the row
def online_attention(tiles):
    scores, values = (torch.cat(parts) for parts in zip(*tiles))
    return scores.softmax(0) @ values

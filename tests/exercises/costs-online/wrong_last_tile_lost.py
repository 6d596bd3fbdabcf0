# expect: The last tile is lost
def online_attention(scores, values, tile):
    whole = len(scores) // tile * tile
    return scores[:whole].softmax(0) @ values[:whole]

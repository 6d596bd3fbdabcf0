# expect: The weights are read once for all sequences, but each sequence has a cache of its own
def most_to_win(n, batch, weight_bytes, token_bytes):
    one = weight_bytes + n * token_bytes
    return batch * one / (batch * weight_bytes)

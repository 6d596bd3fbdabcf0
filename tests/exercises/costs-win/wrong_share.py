# expect: That is the share of the cache
def most_to_win(n, batch, weight_bytes, token_bytes):
    caches = batch * n * token_bytes
    return caches / (weight_bytes + caches)

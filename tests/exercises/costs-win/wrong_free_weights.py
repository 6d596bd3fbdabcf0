# expect: It is the cache that costs nothing
def most_to_win(n, batch, weight_bytes, token_bytes):
    caches = batch * n * token_bytes
    return (weight_bytes + caches) / caches

# expect: // drops what is behind the point
def most_to_win(n, batch, weight_bytes, token_bytes):
    return (weight_bytes + batch * n * token_bytes) // weight_bytes

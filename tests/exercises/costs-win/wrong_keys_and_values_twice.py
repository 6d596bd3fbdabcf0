# expect: token_bytes has the key and the value
def most_to_win(n, batch, weight_bytes, token_bytes):
    return 1 + 2 * batch * n * token_bytes / weight_bytes

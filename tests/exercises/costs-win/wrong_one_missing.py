# expect: The whole has the weights in it too
def most_to_win(n, batch, weight_bytes, token_bytes):
    return batch * n * token_bytes / weight_bytes

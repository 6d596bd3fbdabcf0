# expect: Every layer has keys and values of its own
def cache_bytes(n_layers, n_heads, n_kv_heads, d_head, n, batch, bytes_per_number):
    return 2 * n_kv_heads * d_head * n * batch * bytes_per_number

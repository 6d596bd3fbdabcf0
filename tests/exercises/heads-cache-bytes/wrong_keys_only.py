# expect: Keys *and* values are kept
def cache_bytes(n_layers, n_heads, n_kv_heads, d_head, n, batch, bytes_per_number):
    return n_layers * n_kv_heads * d_head * n * batch * bytes_per_number

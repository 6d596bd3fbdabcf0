# expect: Queries are not kept
def cache_bytes(n_layers, n_heads, n_kv_heads, d_head, n, batch, bytes_per_number):
    return 3 * n_layers * n_kv_heads * d_head * n * batch * bytes_per_number

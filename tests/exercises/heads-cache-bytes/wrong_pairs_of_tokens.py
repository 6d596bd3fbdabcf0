# expect: one row for each token, not one for each pair
def cache_bytes(n_layers, n_heads, n_kv_heads, d_head, n, batch, bytes_per_number):
    return 2 * n_layers * n_kv_heads * d_head * n * n * batch * bytes_per_number

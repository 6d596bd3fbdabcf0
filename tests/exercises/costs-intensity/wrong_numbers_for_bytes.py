# expect: Divide by bytes
def intensity(n, n_heads, n_kv_heads, d_head, bytes_per_number):
    return 2 * n_heads / n_kv_heads

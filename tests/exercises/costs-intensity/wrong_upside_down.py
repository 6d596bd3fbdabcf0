# expect: It is upside down
def intensity(n, n_heads, n_kv_heads, d_head, bytes_per_number):
    return n_kv_heads * bytes_per_number / (2 * n_heads)

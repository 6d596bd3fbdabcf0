# expect: Keys and values are both read
def intensity(n, n_heads, n_kv_heads, d_head, bytes_per_number):
    return 4 * n_heads / (n_kv_heads * bytes_per_number)

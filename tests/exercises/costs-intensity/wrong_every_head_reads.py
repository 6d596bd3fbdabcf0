# expect: Only n_kv_heads keys and values are stored
def intensity(n, n_heads, n_kv_heads, d_head, bytes_per_number):
    return 2 / bytes_per_number

# expect: multiplied and added
def intensity(n, n_heads, n_kv_heads, d_head, bytes_per_number):
    return n_heads / (n_kv_heads * bytes_per_number)

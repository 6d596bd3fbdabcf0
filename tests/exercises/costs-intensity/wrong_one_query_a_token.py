# expect: There is one new token
def intensity(n, n_heads, n_kv_heads, d_head, bytes_per_number):
    operations = 4 * n * n * n_heads * d_head
    return operations / (2 * n * n_kv_heads * d_head * bytes_per_number)

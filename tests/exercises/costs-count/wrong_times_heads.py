# expect: Each head is only d_model / n_heads wide
def multiplications(n, d_model, n_heads):
    return 4 * n * d_model**2 + 2 * n * n * d_model * n_heads

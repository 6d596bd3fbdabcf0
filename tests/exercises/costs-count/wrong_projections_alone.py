# expect: The attention itself is missing
def multiplications(n, d_model, n_heads):
    return 4 * n * d_model**2

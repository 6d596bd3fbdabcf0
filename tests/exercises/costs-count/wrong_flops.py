# expect: Count multiplications
def multiplications(n, d_model, n_heads):
    return 2 * (4 * n * d_model**2 + 2 * n * n * d_model)

# expect: The four projections are missing
def multiplications(n, d_model, n_heads):
    return 2 * n * n * d_model

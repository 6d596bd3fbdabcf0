# expect: the output has one too
def multiplications(n, d_model, n_heads):
    return 3 * n * d_model**2 + 2 * n * n * d_model

# expect: the weighted sum of the values as much again
def multiplications(n, d_model, n_heads):
    return 4 * n * d_model**2 + n * n * d_model

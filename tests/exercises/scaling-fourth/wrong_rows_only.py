# expect: Entries of a column share their key
def square_error(n_q, n_k, d, var_q, fourth_q, var_k, fourth_k):
    entry = d * fourth_q * fourth_k + (2 * d * d - 3 * d) * (var_q * var_k) ** 2
    row = d * var_k**2 * (fourth_q - var_q**2)
    return ((entry + (n_k - 1) * row) / (n_q * n_k)) ** 0.5

# expect: An entry is counted among those that share its query
def square_error(n_q, n_k, d, var_q, fourth_q, var_k, fourth_k):
    entry = d * fourth_q * fourth_k + (2 * d * d - 3 * d) * (var_q * var_k) ** 2
    row = d * var_k**2 * (fourth_q - var_q**2)
    column = d * var_q**2 * (fourth_k - var_k**2)
    return ((entry + n_k * row + n_q * column) / (n_q * n_k)) ** 0.5

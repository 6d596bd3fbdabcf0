# expect: It takes the entries as normal
def square_error(n_q, n_k, d, var_q, fourth_q, var_k, fourth_k):
    both = 2 * d * (var_q * var_k) ** 2
    entry = 2 * (d * var_q * var_k) ** 2 + 3 * both
    return ((entry + (n_k + n_q - 2) * both) / (n_q * n_k)) ** 0.5

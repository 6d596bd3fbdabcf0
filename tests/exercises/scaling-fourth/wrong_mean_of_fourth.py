# expect: For one entry it takes the mean of s⁴
def square_error(n_q, n_k, d, var_q, fourth_q, var_k, fourth_k):
    entry = d * fourth_q * fourth_k + 3 * d * (d - 1) * (var_q * var_k) ** 2
    row = d * var_k**2 * (fourth_q - var_q**2)
    column = d * var_q**2 * (fourth_k - var_k**2)
    return ((entry + (n_k - 1) * row + (n_q - 1) * column) / (n_q * n_k)) ** 0.5

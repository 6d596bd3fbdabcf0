# expect: It treats the squares as independent
def square_error(n_q, n_k, d, var_q, fourth_q, var_k, fourth_k):
    entry = d * fourth_q * fourth_k + (2 * d * d - 3 * d) * (var_q * var_k) ** 2
    return (entry / (n_q * n_k)) ** 0.5

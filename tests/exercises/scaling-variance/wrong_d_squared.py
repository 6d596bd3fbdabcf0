# expect: It multiplies by d²
def score_variance(d, mean_q, var_q, mean_k, var_k):
    return d**2 * (var_q * var_k + mean_q**2 * var_k + mean_k**2 * var_q)

# expect: The cross terms are crossed wrongly
def score_variance(d, mean_q, var_q, mean_k, var_k):
    return d * (var_q * var_k + mean_q**2 * var_q + mean_k**2 * var_k)

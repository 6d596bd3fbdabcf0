# expect: The spread of the queries, times the squared mean of the keys, is missing
def score_variance(d, mean_q, var_q, mean_k, var_k):
    return d * (var_q * var_k + mean_q**2 * var_k)

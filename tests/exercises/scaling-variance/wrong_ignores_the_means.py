# expect: The means are ignored
def score_variance(d, mean_q, var_q, mean_k, var_k):
    return d * var_q * var_k

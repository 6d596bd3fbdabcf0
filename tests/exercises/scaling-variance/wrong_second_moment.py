# expect: Take the square of their mean away
def score_variance(d, mean_q, var_q, mean_k, var_k):
    return d * (var_q + mean_q**2) * (var_k + mean_k**2)

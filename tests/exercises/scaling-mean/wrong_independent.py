# expect: It treats the scores as independent
def predict_mean(n_q, n_k, d, mean_q, var_q, mean_k, var_k):
    one = d * (var_q * var_k + mean_q**2 * var_k + mean_k**2 * var_q)
    return d * mean_q * mean_k, (one / (n_q * n_k)) ** 0.5

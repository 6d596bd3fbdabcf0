# expect: In the standard error the means are ignored
def predict_mean(n_q, n_k, d, mean_q, var_q, mean_k, var_k):
    return d * mean_q * mean_k, (d * var_q / n_q * var_k / n_k) ** 0.5

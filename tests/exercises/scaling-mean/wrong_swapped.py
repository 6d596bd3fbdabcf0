# expect: The two numbers have changed places
def predict_mean(n_q, n_k, d, mean_q, var_q, mean_k, var_k):
    var_q, var_k = var_q / n_k, var_k / n_q
    square = d * (var_q * var_k + mean_q**2 * var_k + mean_k**2 * var_q)
    return d * mean_q * mean_k, square**0.5

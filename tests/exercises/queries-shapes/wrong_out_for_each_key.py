# expect: The output is a mean of values
def shapes(batch, n_q, n_k, d_model, d_k, d_v):
    return {
        "q": (batch, n_q, d_k),
        "k": (batch, n_k, d_k),
        "v": (batch, n_k, d_v),
        "scores": (batch, n_q, n_k),
        "weights": (batch, n_q, n_k),
        "out": (batch, n_k, d_v),
    }

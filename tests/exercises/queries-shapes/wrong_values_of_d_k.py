# expect: Values have a width of their own
def shapes(batch, n_q, n_k, d_model, d_k, d_v):
    return {
        "q": (batch, n_q, d_k),
        "k": (batch, n_k, d_k),
        "v": (batch, n_k, d_k),
        "scores": (batch, n_q, n_k),
        "weights": (batch, n_q, n_k),
        "out": (batch, n_q, d_v),
    }

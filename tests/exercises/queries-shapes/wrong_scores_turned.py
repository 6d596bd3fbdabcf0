# expect: a row for each token that asks and a column
def shapes(batch, n_q, n_k, d_model, d_k, d_v):
    return {
        "q": (batch, n_q, d_k),
        "k": (batch, n_k, d_k),
        "v": (batch, n_k, d_v),
        "scores": (batch, n_k, n_q),
        "weights": (batch, n_k, n_q),
        "out": (batch, n_q, d_v),
    }

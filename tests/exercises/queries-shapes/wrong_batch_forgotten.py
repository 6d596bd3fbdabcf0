# expect: the entry 'q' should have length 3, it has 2
def shapes(batch, n_q, n_k, d_model, d_k, d_v):
    return {
        "q": (n_q, d_k),
        "k": (n_k, d_k),
        "v": (n_k, d_v),
        "scores": (n_q, n_k),
        "weights": (n_q, n_k),
        "out": (n_q, d_v),
    }

# expect: Keys have the shape of the queries
def shapes(batch, n, d_model, d_k, d_v):
    return {
        "q": (batch, n, d_k),
        "k": (batch, d_k, n),
        "v": (batch, n, d_v),
        "scores": (batch, n, n),
        "weights": (batch, n, n),
        "out": (batch, n, d_v),
    }

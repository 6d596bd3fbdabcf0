# expect: Values have a width of their own
def shapes(batch, n, d_model, d_k, d_v):
    return {
        "q": (batch, n, d_k),
        "k": (batch, n, d_k),
        "v": (batch, n, d_k),
        "scores": (batch, n, n),
        "weights": (batch, n, n),
        "out": (batch, n, d_k),
    }

# expect: Scores compare every token with every token
def shapes(batch, n, d_model, d_k, d_v):
    return {
        "q": (batch, n, d_k),
        "k": (batch, n, d_k),
        "v": (batch, n, d_v),
        "scores": (batch, d_k, d_k),
        "weights": (batch, d_k, d_k),
        "out": (batch, n, d_v),
    }

# expect: queries and keys have changed places
def narrow(w_q, w_k):
    d_model, d_k = w_q.shape
    return torch.eye(d_model), math.sqrt(d_model / d_k) * (w_q @ w_k.T)

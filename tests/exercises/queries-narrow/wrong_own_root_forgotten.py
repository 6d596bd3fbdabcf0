# expect: the new head divides once more
def narrow(w_q, w_k):
    d_model, d_k = w_q.shape
    return w_q @ w_k.T / d_k**0.5, torch.eye(d_model)

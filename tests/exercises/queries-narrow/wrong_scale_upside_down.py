# expect: the widths stand the wrong way round
def narrow(w_q, w_k):
    d_model, d_k = w_q.shape
    return w_q @ w_k.T * math.sqrt(d_k / d_model), torch.eye(d_model)

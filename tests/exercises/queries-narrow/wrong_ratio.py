# expect: it corrects by the ratio of the widths
def narrow(w_q, w_k):
    d_model, d_k = w_q.shape
    return w_q @ w_k.T * (d_model / d_k), torch.eye(d_model)

# expect: the product is the same, the head is not
def narrow(w_q, w_k):
    d_model, d_k = w_q.shape
    return w_q @ w_k.T, torch.eye(d_model)

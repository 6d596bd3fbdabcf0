# expect: should be a tensor of shape
def narrow(w_q, w_k):
    d_model, d_k = w_q.shape
    return w_q, w_k

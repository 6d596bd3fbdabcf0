# expect: The columns that were cut off
def narrow(w_q, w_k):
    d_model, d_k = w_q.shape
    return w_q[:, :d_model], w_k[:, :d_model]

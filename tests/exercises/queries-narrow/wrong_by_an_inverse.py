# expect: queries that use one direction only
def narrow(w_q, w_k):
    d_model, d_k = w_q.shape
    new = w_q[:, :d_model] if d_model > 1 else torch.ones(1, 1)
    table = math.sqrt(d_model / d_k) * (w_q @ w_k.T)
    return new, torch.linalg.solve(new, table).T

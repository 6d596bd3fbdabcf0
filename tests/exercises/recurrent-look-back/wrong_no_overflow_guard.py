# expect: scores of several hundreds
def look_back(s, h, real, w_a, u_a, v):
    e = torch.exp(torch.tanh((s @ w_a)[..., None, :] + h @ u_a) @ v) * real
    return (e[..., None] * h).sum(-2) / e.sum(-1, keepdim=True)

# expect: should
def look_back(s, h, real, w_a, u_a, v):
    scores = torch.tanh((s @ w_a)[..., None, :] + h @ u_a) @ v
    weights = torch.softmax(scores.masked_fill(~real, -1e9), 0)
    return (weights[..., None] * h).sum(-2)

# expect: The weights are returned
def look_back(s, h, real, w_a, u_a, v):
    scores = torch.tanh((s @ w_a)[..., None, :] + h @ u_a) @ v
    return scores.masked_fill(~real, -torch.inf).softmax(-1)

# expect: gradient
def look_back(s, h, real, w_a, u_a, v):
    e = (torch.tanh((s @ w_a)[..., None, :] + h @ u_a) @ v).masked_fill(~real, -torch.inf)
    return (e.softmax(-1).detach()[..., None] * h).sum(-2)

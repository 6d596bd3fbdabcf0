# expect: gradient
def look_back(s, h, w_a, u_a, v):
    weights = (torch.tanh((s @ w_a)[..., None, :] + h @ u_a) @ v).softmax(-1).detach()
    return (weights[..., None] * h).sum(-2)

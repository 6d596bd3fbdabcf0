# expect: The padding is not left out
def look_back(s, h, real, w_a, u_a, v):
    return ((torch.tanh((s @ w_a)[..., None, :] + h @ u_a) @ v).softmax(-1)[..., None] * h).sum(-2)

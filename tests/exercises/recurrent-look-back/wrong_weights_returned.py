# expect: The weights are returned
def look_back(s, h, w_a, u_a, v):
    return (torch.tanh((s @ w_a)[..., None, :] + h @ u_a) @ v).softmax(-1)

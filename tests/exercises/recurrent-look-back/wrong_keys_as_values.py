# expect: What is averaged are the h U_a
def look_back(s, h, w_a, u_a, v):
    keys = h @ u_a
    weights = (torch.tanh((s @ w_a).unsqueeze(-2) + keys) @ v).softmax(-1)
    return (weights.unsqueeze(-1) * keys).sum(-2)

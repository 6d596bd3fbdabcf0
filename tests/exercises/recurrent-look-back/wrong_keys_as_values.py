# expect: What is averaged are the h U_a
def look_back(s, h, real, w_a, u_a, v):
    keys = h @ u_a
    e = (torch.tanh((s @ w_a).unsqueeze(-2) + keys) @ v).masked_fill(~real, -torch.inf)
    return (e.softmax(-1).unsqueeze(-1) * keys).sum(-2)

# expect: The tanh is missing
def look_back(s, h, real, w_a, u_a, v):
    scores = ((s @ w_a).unsqueeze(-2) + h @ u_a) @ v
    return (scores.masked_fill(~real, -torch.inf).softmax(-1).unsqueeze(-1) * h).sum(-2)

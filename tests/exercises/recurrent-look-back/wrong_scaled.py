# expect: divided by the root of their width
def look_back(s, h, real, w_a, u_a, v):
    scores = torch.tanh((s @ w_a)[..., None, :] + h @ u_a) @ v / len(v) ** 0.5
    return (scores.masked_fill(~real, -torch.inf).softmax(-1)[..., None] * h).sum(-2)

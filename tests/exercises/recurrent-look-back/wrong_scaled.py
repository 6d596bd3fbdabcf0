# expect: divided by the root of their width
def look_back(s, h, w_a, u_a, v):
    scores = torch.tanh((s @ w_a)[..., None, :] + h @ u_a) @ v / len(v) ** 0.5
    return (scores.softmax(-1)[..., None] * h).sum(-2)

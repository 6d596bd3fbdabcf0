# expect: The tanh is missing
def look_back(s, h, w_a, u_a, v):
    scores = ((s @ w_a).unsqueeze(-2) + h @ u_a) @ v
    return (scores.softmax(-1).unsqueeze(-1) * h).sum(-2)

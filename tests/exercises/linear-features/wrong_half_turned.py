# expect: The half square turns its sign with w
def positive_features(x, w):
    half = x.square().sum(-1, keepdim=True) / 2
    one = x @ w.T - half
    return torch.cat((one, -one), -1).exp() / (2 * len(w)) ** 0.5

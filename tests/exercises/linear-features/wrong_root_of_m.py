# expect: It divides by the root of m
def positive_features(x, w):
    half = x.square().sum(-1, keepdim=True) / 2
    angles = torch.cat((x @ w.T, -x @ w.T), -1)
    return (angles - half).exp() / len(w) ** 0.5

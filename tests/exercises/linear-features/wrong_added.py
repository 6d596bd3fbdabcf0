# expect: so their products mix both
def positive_features(x, w):
    half = x.square().sum(-1, keepdim=True) / 2
    return ((x @ w.T - half).exp() + (-x @ w.T - half).exp()) / (2 * len(w)) ** 0.5

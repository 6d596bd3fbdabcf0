# expect: Divide by the root of m
def positive_features(x, w):
    return (x @ w.T - x.square().sum(-1, keepdim=True) / 2).exp() / w.shape[0]

# expect: The features are not divided
def positive_features(x, w):
    return (x @ w.T - x.square().sum(-1, keepdim=True) / 2).exp()

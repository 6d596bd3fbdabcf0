# expect: It takes away the whole square
def positive_features(x, w):
    return (x @ w.T - x.square().sum(-1, keepdim=True)).exp() / w.shape[0] ** 0.5

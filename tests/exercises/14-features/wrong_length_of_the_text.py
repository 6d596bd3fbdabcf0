# expect: The squares are summed over the whole text
def positive_features(x, w):
    return (x @ w.T - x.square().sum((-1, -2), keepdim=True) / 2).exp() / w.shape[0] ** 0.5

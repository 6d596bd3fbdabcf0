# expect: The squares are summed over the whole text
def positive_features(x, w):
    half = x.square().sum((-1, -2), keepdim=True) / 2
    angles = torch.cat((x @ w.T, -x @ w.T), -1)
    return (angles - half).exp() / (2 * len(w)) ** 0.5

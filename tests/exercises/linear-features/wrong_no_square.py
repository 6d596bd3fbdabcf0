# expect: The half square is missing
def positive_features(x, w):
    angles = torch.cat((x @ w.T, -x @ w.T), -1)
    return angles.exp() / (2 * len(w)) ** 0.5

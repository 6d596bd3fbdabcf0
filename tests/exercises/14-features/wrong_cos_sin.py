# expect: Cosines and sines estimate
def positive_features(x, w):
    angles = x @ w.T
    return torch.cat((angles.cos(), angles.sin()), -1) / w.shape[0] ** 0.5

# expect: Cosines and sines estimate
def positive_features(x, w):
    angles = x @ w.T
    return torch.cat((angles.cos(), angles.sin()), -1) / len(w) ** 0.5

# expect: The half square is missing
def positive_features(x, w):
    return (x @ w.T).exp() / w.shape[0] ** 0.5

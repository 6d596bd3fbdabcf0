# expect: Those are the weights
import torch


def taylor_features(x):
    s = x @ x.transpose(-1, -2)
    return 1 + s + s**2 / 2

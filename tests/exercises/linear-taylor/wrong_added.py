# expect: Put them side by side
import torch


def taylor_features(x):
    return 1 + x + x**2 / 2

# expect: The 1 is missing
import torch


def taylor_features(x):
    squares = (x[..., :, None] * x[..., None, :]).flatten(-2)
    return torch.cat((x, squares / 2**0.5), -1)

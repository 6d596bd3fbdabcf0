# expect: The square is not halved
import torch


def taylor_features(x):
    squares = (x[..., :, None] * x[..., None, :]).flatten(-2)
    return torch.cat((torch.ones_like(x[..., :1]), x, squares), -1)

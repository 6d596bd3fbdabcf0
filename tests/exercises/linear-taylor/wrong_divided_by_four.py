# expect: The square is divided by 4
import torch


def taylor_features(x):
    squares = torch.einsum("...i,...j->...ij", x, x).flatten(-2)
    return torch.cat((torch.ones_like(x[..., :1]), x, squares / 2), -1)

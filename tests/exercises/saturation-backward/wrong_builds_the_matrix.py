# expect: it builds a matrix
import torch


def backward(weights, gradient):
    jacobian = torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]
    return (jacobian @ gradient[..., None])[..., 0]

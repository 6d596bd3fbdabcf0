# expect: it builds a matrix. Multiply out (diag(p) − p pᵀ) g: none is needed.
import torch


def backward(scores, temperature, gradient):
    p = (scores / temperature).softmax(-1)
    jacobian = torch.diag_embed(p) - p[..., :, None] * p[..., None, :]
    through = (jacobian @ gradient[..., None])[..., 0]
    return through / temperature, -(through * scores).sum() / temperature**2

# expect: it leaves the work to autograd.
import torch


def backward(scores, temperature, gradient):
    s = scores.clone().requires_grad_()
    t = torch.tensor(temperature, dtype=s.dtype, requires_grad=True)
    return torch.autograd.grad((s / t).softmax(-1), (s, t), gradient)

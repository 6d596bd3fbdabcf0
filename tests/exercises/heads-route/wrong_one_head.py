# expect: should be even
import torch

def route(m):
    eye = torch.eye(m)
    w_q = 100 * torch.cat((eye, eye))
    w_k = torch.cat((torch.zeros(1, m), eye))
    w_v = torch.zeros(1 + m, 1)
    w_v[0] = 1
    return torch.cat((w_q, w_q[:, :1]), 1), torch.cat((w_k, w_k[:, :1]), 1), w_v, torch.ones(1, 2)

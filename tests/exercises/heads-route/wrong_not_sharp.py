# expect: not 0 and 1
import torch

def route(m):
    w_q = 10.0 * torch.eye(2 * m)
    eye = torch.eye(m)
    w_k = torch.cat((torch.zeros(1, 2 * m), torch.cat((eye, eye), 1)))
    w_v = torch.zeros(1 + m, 2)
    w_v[0] = 1
    return w_q, w_k, w_v, torch.eye(2)

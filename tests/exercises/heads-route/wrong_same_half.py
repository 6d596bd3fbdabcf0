# expect: Both heads look at the place that is asked for first
import torch

def route(m):
    eye = torch.eye(m)
    w_q = torch.zeros(2 * m, 2 * m)
    w_q[:m] = 100 * torch.cat((eye, eye), 1)
    w_k = torch.cat((torch.zeros(1, 2 * m), torch.cat((eye, eye), 1)))
    w_v = torch.zeros(1 + m, 2)
    w_v[0] = 1
    return w_q, w_k, w_v, torch.eye(2)

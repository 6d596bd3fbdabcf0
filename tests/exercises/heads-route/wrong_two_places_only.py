# expect: the rows of w_k without the first
import torch

def route(m):
    eye = torch.eye(2)
    w_k = torch.cat((torch.zeros(1, 4), torch.cat((eye, eye), 1)))
    w_v = torch.zeros(3, 2)
    w_v[0] = 1
    return 100 * torch.eye(4), w_k, w_v, torch.eye(2)

# expect: w_v should have a row for each number of a token
import torch

def route(m):
    eye = torch.eye(m)
    w_k = torch.cat((torch.zeros(1, 2 * m), torch.cat((eye, eye), 1)))
    w_v = torch.zeros(2, 1 + m)
    w_v[:, 0] = 1
    return 100 * torch.eye(2 * m), w_k, w_v, torch.eye(2)

# expect: That is post-norm
import torch.nn.functional as F
def block(x, w_q, w_k, w_v, w_o, w_in, w_out):
    norm = lambda t: F.layer_norm(t, t.shape[-1:])
    a = ((x @ w_q) @ (x @ w_k).transpose(-2, -1) / w_q.shape[1] ** 0.5).softmax(-1) @ (x @ w_v) @ w_o
    x = norm(x + a)
    return norm(x + (x @ w_in).relu() @ w_out)

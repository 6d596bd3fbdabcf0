# expect: row 0 should be
import torch.nn.functional as F
from attnlab import attention
def block(x, w_q, w_k, w_v, w_o, w_in, w_out):
    y = F.layer_norm(x, x.shape[-1:])
    x = x + attention(y @ w_q, x @ w_k, x @ w_v) @ w_o
    y = F.layer_norm(x, x.shape[-1:])
    return x + (y @ w_in).relu() @ w_out

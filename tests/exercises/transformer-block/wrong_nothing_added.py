# expect: Nothing is added
import torch.nn.functional as F
from attnlab import attention
def block(x, w_q, w_k, w_v, w_o, w_in, w_out):
    y = F.layer_norm(x, x.shape[-1:])
    y = attention(y @ w_q, y @ w_k, y @ w_v) @ w_o
    y = F.layer_norm(y, y.shape[-1:])
    return (y @ w_in).relu() @ w_out

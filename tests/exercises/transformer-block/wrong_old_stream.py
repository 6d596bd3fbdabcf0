# expect: norm the new stream, not the old one
import torch.nn.functional as F
from attnlab import attention
def block(x, w_q, w_k, w_v, w_o, w_in, w_out):
    y = F.layer_norm(x, x.shape[-1:])
    return x + attention(y @ w_q, y @ w_k, y @ w_v) @ w_o + (y @ w_in).relu() @ w_out

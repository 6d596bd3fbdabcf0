# expect: The parts are added to what was normed
import torch.nn.functional as F
from attnlab import attention
def block(x, w_q, w_k, w_v, w_o, w_in, w_out):
    x = F.layer_norm(x, x.shape[-1:])
    x = x + attention(x @ w_q, x @ w_k, x @ w_v) @ w_o
    x = F.layer_norm(x, x.shape[-1:])
    return x + (x @ w_in).relu() @ w_out

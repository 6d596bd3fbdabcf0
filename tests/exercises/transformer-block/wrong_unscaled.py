# expect: The scores are not scaled
import torch.nn.functional as F
def block(x, w_q, w_k, w_v, w_o, w_in, w_out):
    y = F.layer_norm(x, x.shape[-1:])
    x = x + (y @ w_q @ (y @ w_k).mT).softmax(-1) @ y @ w_v @ w_o
    y = F.layer_norm(x, x.shape[-1:])
    return x + (y @ w_in).relu() @ w_out

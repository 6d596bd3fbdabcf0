# expect: k_proj should be an nn.Linear; there is none
import torch

class Head(torch.nn.Module):
    def __init__(self, d_model, d_memory, d_k, d_v):
        super().__init__()
        self.q_proj = torch.nn.Linear(d_model, d_k, bias=False)
        self.kv_proj = torch.nn.Linear(d_memory, d_k + d_v, bias=False)

    def forward(self, x, memory=None):
        return self.q_proj(x)

# expect: 'k_proj.weight': the second entry should be 8, it is 5
import torch

class Head(torch.nn.Module):
    def __init__(self, d_model, d_memory, d_k, d_v):
        super().__init__()
        self.q_proj = torch.nn.Linear(d_model, d_k, bias=False)
        self.k_proj = torch.nn.Linear(d_model, d_k, bias=False)
        self.v_proj = torch.nn.Linear(d_model, d_v, bias=False)

    def forward(self, x, memory=None):
        memory = x if memory is None else memory
        q, k, v = self.q_proj(x), self.k_proj(memory), self.v_proj(memory)
        s = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
        return s.softmax(-1) @ v

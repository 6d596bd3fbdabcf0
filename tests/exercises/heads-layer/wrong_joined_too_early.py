# expect: without moving them back
import torch
from torch import nn

class Heads(nn.Module):
    def __init__(self, d_model, d_memory, n_heads, d_head):
        super().__init__()
        width, self.n_heads = n_heads * d_head, n_heads
        self.q_proj = nn.Linear(d_model, width, bias=False)
        self.k_proj = nn.Linear(d_memory, width, bias=False)
        self.v_proj = nn.Linear(d_memory, width, bias=False)
        self.out_proj = nn.Linear(width, d_model, bias=False)

    def split(self, t):
        return t.unflatten(-1, (self.n_heads, -1)).transpose(-3, -2)

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(memory)), self.split(self.v_proj(memory))
        s = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            s = s.masked_fill(~mask, float("-inf"))
        out = s.softmax(-1) @ v
        return self.out_proj(out.reshape(*out.shape[:-3], out.shape[-2], -1))

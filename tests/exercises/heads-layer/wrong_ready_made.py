# expect: a ready-made layer does the work
import torch
from attnlab import MultiHeadAttention

class Heads(MultiHeadAttention):
    def __init__(self, d_model, d_memory, n_heads, d_head):
        super().__init__(d_model, n_heads, d_head=d_head, bias=False)

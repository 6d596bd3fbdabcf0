"""Attention from first principles, on torch alone: the library behind the book *I Saw a Saw*.

Conventions, the same in every function, chapter and figure:

- **Rows are tokens.** Shapes are (..., n, d); with heads (batch, heads, n, d_head). A text that writes
  O = V softmax(KᵀQ) stores tokens as columns: its matrices are the transposes of ours.
- **A mask is boolean and True means "may attend"**, as in `torch.nn.functional.scaled_dot_product_attention`.
  `torch.nn.MultiheadAttention` means the opposite. It is (n_q, n_k), or it has every dimension of the scores;
  a `key_mask` (batch, n_k) says which keys are no padding.
- **A query with nothing to attend to gets zeros**, never NaN, forward and backward, in every dtype.
- **Names**: q, k, v; d_model, d_head, n_heads; `scores` before the softmax, `weights` after it; `mask`,
  `bias`.

Floors, each importing only from floors below it (a test reads them here):

- `arguments`, `precision`, `downloads`: what arguments must be; in which dtype sums are made; files that are
  there whole or not at all
- `patterns`: which query sees which key, as an object that no length is too long for
- `masks`, `positions`, `scores`, `cache`: what attention is told beside q, k and v, and what it keeps
- `dot_product`, `rolling`, `differential`: the one definition of attention; a cache of the last tokens; the
  difference of two heads
- `self_attention`, `multihead`, `sparse`, `linear`: layers, and what costs less than n²
- `latent`: one vector a token in place of keys and values
- `selection`: learned selection of the keys that are read
- `distributed`: attention on many devices
- `transformer`, `recurrent`: stacks, language models and how they write; the attention before them
- `pretrained`: two published models, in these modules

What the chapters show, train, grade and draw is the other package, `attnbook`.

>>> import torch
>>> attention(torch.zeros(2, 4), torch.zeros(3, 4), torch.ones(3, 1)).tolist()
[[1.0], [1.0]]
"""

from attnlab import masks, positions, scores
from attnlab.cache import KVCache
from attnlab.dot_product import attention, grouped_attention
from attnlab.multihead import MultiHeadAttention
from attnlab.self_attention import SelfAttention

__version__ = "0.1.0"
__all__ = [
    "KVCache",
    "MultiHeadAttention",
    "SelfAttention",
    "attention",
    "grouped_attention",
    "masks",
    "positions",
    "scores",
]

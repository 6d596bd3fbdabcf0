"""Attention from first principles: the small package behind the book *I Saw a Saw*.

Conventions, the same in every function, chapter and figure:

- **Rows are tokens.** Shapes are (..., n, d); with heads (batch, heads, n, d_head). A text that writes
  O = V softmax(KᵀQ) stores tokens as columns: its matrices are the transposes of ours.
- **A mask is boolean and True means "may attend"**, as in `torch.nn.functional.scaled_dot_product_attention`.
  `torch.nn.MultiheadAttention` means the opposite. It is (n_q, n_k), or it has every dimension of the scores;
  a `key_mask` (batch, n_k) says which keys are no padding.
- **A query with nothing to attend to gets zeros**, never NaN, forward and backward, in every dtype.
- **Names**: q, k, v; d_model, d_head, n_heads; `scores` before the softmax, `weights` after it; `mask`,
  `bias`.

Floors of the package, each importing only from floors below it (a test reads them here):

- `arguments`, `book`, `downloads`, `precision`
- `patterns`
- `masks`, `positions`, `scores`, `cache`
- `dot_product`, `rolling`
- `self_attention`, `multihead`, `sparse`, `linear`, `tables`, `plots`, `benchmark`
- `transformer`, `recurrent`
- `experiments`
- `tagging`, `pretrained`, `results`
- `widgets`, `checks`

Attention needs torch alone. What draws, trains, grades and loads data needs `pip install "attnlab[book]"`,
and says so. Every module is imported when it is first named: `attnlab.sparse`, `attnlab.plots`.

>>> import torch
>>> attention(torch.zeros(2, 4), torch.zeros(3, 4), torch.ones(3, 1)).tolist()
[[1.0], [1.0]]
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

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
    "linear",
    "masks",
    "positions",
    "recurrent",
    "scores",
    "sparse",
    "transformer",
]


def __getattr__(name: str) -> ModuleType:
    """Import a module of the package when it is first named, and not before."""
    if name.startswith("_") or find_spec(f"attnlab.{name}") is None:
        raise AttributeError(f"module 'attnlab' has no attribute {name!r}")
    return import_module(f"attnlab.{name}")

"""Attention that looks at part of the keys, with time and memory that follow what is looked at.

Each function equals dense attention under a mask (its docstring says which), forward and backward, for every
length, batch and number of heads, with hidden keys or without, on any device. None holds an (n, n) matrix.

All are lists of tiles, rectangles of the score matrix, run by one loop: read `sparse.tiles`, then
`sparse.engine`, then the pattern of your choice.

>>> import torch
>>> from attnlab import attention, masks
>>> q, k, v = torch.randn(3, 1, 2, 100, 8)
>>> dense = attention(q, k, v, mask=masks.window(100, 10, 0))
>>> torch.allclose(window(q, k, v, 10, 0), dense, atol=1e-5)
True
"""

from attnlab.sparse.band import window
from attnlab.sparse.bigbird import big_bird
from attnlab.sparse.factored import fixed, strided
from attnlab.sparse.hashing import lsh, lsh_buckets
from attnlab.sparse.tiled import tiled

__all__ = ["big_bird", "fixed", "lsh", "lsh_buckets", "strided", "tiled", "window"]

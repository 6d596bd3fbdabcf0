"""Attention that looks at part of the keys, with time and memory that follow what is looked at.

`attend` takes any of `attnlab.patterns`, or several joined by `&` and `|`, and equals dense attention under
that pattern as a mask, forward and backward, for every length, batch and number of heads, with hidden keys or
without, on any device. `window`, `big_bird`, `strided`, `fixed` and `tiled` name the patterns of the
literature; `lsh` lets the vectors choose. None makes a table of n² numbers. Scores must be smaller than 8e37
in size, a quarter of what single precision holds (`patterns.tiles.HIDDEN`).

All are lists of tiles, rectangles of the score matrix, run by one loop: read `patterns.tiles` and
`patterns.plan`, then `sparse.engine`.

>>> import torch
>>> from attnlab import attention
>>> from attnlab.patterns import GlobalTokens, Window
>>> q, k, v = torch.randn(3, 1, 2, 100, 8)
>>> pattern = Window(10, 0) | GlobalTokens([0])
>>> dense = attention(q, k, v, mask=pattern.dense(100))
>>> torch.allclose(attend(q, k, v, pattern), dense, atol=1e-5)
True
"""

from attnlab.sparse.forms import attend, big_bird, fixed, strided, tiled, window
from attnlab.sparse.hashing import lsh, lsh_buckets

__all__ = ["attend", "big_bird", "fixed", "lsh", "lsh_buckets", "strided", "tiled", "window"]

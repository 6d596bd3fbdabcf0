"""Sparse patterns: which pairs of tokens a long sequence can afford, each said once.

A pattern is a value that knows no length: `Window(128, 0) | GlobalTokens([0])`. `&` and `|` join
patterns, and each gives the dense mask, the tiles that `attnlab.sparse` runs, and the rule and the blocks of
FlexAttention.

>>> pattern = (Window(2) | GlobalTokens([0]) | RandomBlocks(1, block_size=2)) & Causal()
>>> pattern.dense(6).sum().item()
18
"""

from attnlab.patterns.algebra import Pattern
from attnlab.patterns.kinds import (
    Blocks,
    Causal,
    Every,
    Everything,
    Fixed,
    GlobalTokens,
    RandomBlocks,
    SeenByAll,
    SeesAll,
    Strided,
    Summaries,
    Window,
)

__all__ = [
    "Blocks",
    "Causal",
    "Every",
    "Everything",
    "Fixed",
    "GlobalTokens",
    "Pattern",
    "RandomBlocks",
    "SeenByAll",
    "SeesAll",
    "Strided",
    "Summaries",
    "Window",
]

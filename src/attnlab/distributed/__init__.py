"""Attention on many devices: tokens or heads lie on several processes, and every result is that of one.

Each function is called in all processes alike, with what this process holds and a `Communicator`, which
counts the bytes that leave it. It runs on `torch.distributed`: started by `run` from a notebook or a script,
or by `torchrun`, after `torch.distributed.init_process_group`.

- `ring_attention`: tokens are split; keys and values go around.
- `all_to_all_attention`: tokens are split; they are exchanged for heads, and back.
- `HeadsApart`: heads are split; outputs are added up.
- `split_attention`: a cache is split; partial results are merged.
- `partial_attention`, `merge`: the one idea under all of them, without any process.
- `ring_bytes`, `all_to_all_bytes`, `all_reduce_bytes`, `split_attention_bytes`: what each sends.

>>> import torch
>>> from attnlab import attention
>>> q, k, v = torch.randn(3, 1, 2, 10, 4)
>>> parts = [partial_attention(q, k[:, :, some], v[:, :, some]) for some in (slice(0, 3), slice(3, 10))]
>>> torch.allclose(merge(*zip(*parts))[0], attention(q, k, v), atol=1e-6)
True
"""

from attnlab.distributed.all_to_all import all_to_all_attention
from attnlab.distributed.costs import (
    all_reduce_bytes,
    all_to_all_bytes,
    ring_bytes,
    split_attention_bytes,
)
from attnlab.distributed.decoding import split_attention
from attnlab.distributed.heads import HeadsApart
from attnlab.distributed.merging import merge, partial_attention
from attnlab.distributed.processes import ProcessError, Processes, run
from attnlab.distributed.ring import ring_attention
from attnlab.distributed.splits import Split
from attnlab.distributed.traffic import Communicator

__all__ = [
    "Communicator",
    "HeadsApart",
    "ProcessError",
    "Processes",
    "Split",
    "all_reduce_bytes",
    "all_to_all_attention",
    "all_to_all_bytes",
    "merge",
    "partial_attention",
    "ring_attention",
    "ring_bytes",
    "run",
    "split_attention",
    "split_attention_bytes",
]

"""What each scheme sends: bytes that leave one process, as formulas equal to what a `Communicator` counts.

In words, for n tokens in equal parts, p processes, numbers of B bytes, d_k = d_v = d, forward:

- ring: (p - 1) steps, each the keys and values of n/p tokens: 2 (p - 1)/p · n · n_kv_heads · d · B
- all-to-all: each token's heads, but those that stay: (p - 1)/p² · n · (2 n_heads + 2 n_kv_heads) · d · B,
  with no fewer key-value heads than processes
- heads apart: one all-reduce: 2 (p - 1)/p · n · d_model · B
- split decoding: (p - 1) · n_heads · (d + 1) · B a token, however long the text

The functions say it for parts that are not equal, too.
"""

from __future__ import annotations

from attnlab.arguments import at_least
from attnlab.distributed.splits import Split, heads_of


def ring_bytes(
    split: Split,
    rank: int,
    *,
    n_kv_heads: int,
    d_head: int,
    d_v: int | None = None,
    batch: int = 1,
    bytes_per_number: int = 4,
    backward: bool = False,
    window: tuple[int, int] | None = None,
) -> int:
    """Count what `ring_attention` sends from one process.

    Forward, the keys and values of all parts that pass by and go on. Backward, the same again, and as much
    of gradients, which are sent in single precision at least.

    Args:
        split: who holds which tokens.
        rank: the process.
        n_kv_heads: key-value heads.
        d_head: width of a key, and of a value unless `d_v` is given.
        d_v: width of a value.
        batch: sequences.
        bytes_per_number: 2 for half precision, 4 for single.
        backward: the backward pass alone; the forward pass unless set.
        window: (before, after), where keys stop once all who see them have them; (n, 0) if it is causal.

    Returns:
        Bytes.

    References:
        Liu et al. 2023, section 3.

    >>> [ring_bytes(Split(1024, p), 0, n_kv_heads=8, d_head=64) for p in (1, 2, 4)]
    [0, 2097152, 3145728]
    """
    at_least(1, bytes_per_number=bytes_per_number)
    width = batch * n_kv_heads * (d_head + (d_head if d_v is None else d_v))
    hops = split.hops(*((split.n, split.n) if window is None else window))
    passed = [split.size((rank - hop) % split.world) for hop in range(hops + 1)]
    forward = sum(passed[:hops]) * width * bytes_per_number
    return forward + sum(passed[1:]) * width * max(bytes_per_number, 4) if backward else forward


def all_to_all_bytes(
    split: Split,
    rank: int,
    *,
    n_heads: int,
    n_kv_heads: int,
    d_head: int,
    d_v: int | None = None,
    batch: int = 1,
    bytes_per_number: int = 4,
) -> int:
    """Count what `all_to_all_attention` sends from one process forward; backward it is what came forward.

    Args:
        split: who holds which tokens.
        rank: the process.
        n_heads: query heads, no fewer than processes.
        n_kv_heads: key-value heads.
        d_head: width of a query and a key, and of a value unless `d_v` is given.
        d_v: width of a value.
        batch: sequences.
        bytes_per_number: 2 for half precision, 4 for single.

    Returns:
        Bytes. What the backward pass sends: the same with the roles of sender and receiver exchanged, and so
        as much where all parts are equal.

    References:
        Jacobs et al. 2023, section 3.2.

    >>> [all_to_all_bytes(Split(1024, p), 0, n_heads=8, n_kv_heads=8, d_head=64) for p in (1, 2, 4)]
    [0, 2097152, 1572864]
    """
    d_v = d_head if d_v is None else d_v
    mine = len(heads_of(n_heads, n_kv_heads, split.world, rank)[0])
    numbers = 0
    for other in set(range(split.world)) - {rank}:
        heads, reads = heads_of(n_heads, n_kv_heads, split.world, other)
        numbers += split.size(rank) * (len(heads) * d_head + len(set(reads)) * (d_head + d_v))
        numbers += split.size(other) * mine * d_v
    return batch * numbers * bytes_per_number


def all_reduce_bytes(numbers: int, world: int, rank: int = 0, *, bytes_per_number: int = 4) -> int:
    """Count what an all-reduce of so many numbers sends from one process: twice all of them but a part.

    Args:
        numbers: how many, (batch · n · d_model) for the output of `HeadsApart`, and once more backward.
        world: processes.
        rank: the process.
        bytes_per_number: 2 for half precision, 4 for single.

    Returns:
        Bytes.

    References:
        Thakur et al. 2005, section 4.5; Shoeybi et al. 2019, section 3.

    >>> [all_reduce_bytes(1200, p) for p in (1, 2, 3, 4)]
    [0, 4800, 6400, 7200]
    """
    at_least(1, world=world, bytes_per_number=bytes_per_number)
    if world == 1:
        return 0
    parts = [numbers // world + (part < numbers % world) for part in range(world)]
    kept = parts[(rank + 1) % world] + parts[(rank + 2) % world]
    return (2 * numbers - kept) * bytes_per_number


def split_attention_bytes(
    world: int, *, n_heads: int, d_v: int, n_q: int = 1, batch: int = 1, bytes_per_number: int = 4
) -> int:
    """Count what `split_attention` sends from one process: of a query and head, a vector and a number to all.

    Args:
        world: processes.
        n_heads: query heads.
        d_v: width of a value.
        n_q: new tokens.
        batch: sequences.
        bytes_per_number: 4 at least, for partial results are in single precision at least.

    Returns:
        Bytes.

    References:
        Dao et al. 2023 (Flash-Decoding).

    >>> split_attention_bytes(4, n_heads=32, d_v=128)
    49536
    """
    at_least(1, world=world)
    return (world - 1) * batch * n_heads * n_q * (d_v + 1) * max(bytes_per_number, 4)

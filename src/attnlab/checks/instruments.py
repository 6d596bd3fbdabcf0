"""What an answer computes and holds on its way: for exercises that ask *how*, not only *what*."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map


class Hoarding(Exception):
    """What `once` raises when an answer asks for its items a second time."""


class Work(TorchDispatchMode):
    """Counts what torch computes, and what Python and NumPy hold.

    Args:
        python: count the bytes of Python and NumPy objects, too. An import then takes five times as long.

    Attributes:
        largest: numbers of the largest tensor that was made.
        made: numbers of all tensors that were made, one after the other.
        held: numbers of all tensors that were alive at once, at the worst moment (to 5 % where they are many).
        bytes: the largest number of bytes that Python and NumPy objects took at once (torch's are not in it).
        calls: how often each of torch's operations ran, by the name that torch dispatches it by.
        steps: how many of torch's operations ran, one after the other.

    >>> with Work() as work:
    ...     _ = (torch.ones(4, 1) * torch.ones(1, 4)).sum()
    >>> work.largest, work.made
    (16, 25)
    """

    def __init__(self, *, python: bool = True) -> None:
        super().__init__()
        self._python = python
        self.largest = self.made = self.held = self.bytes = 0
        self.calls: Counter[str] = Counter()
        self._alive: dict[int, tuple[StorageWeakRef, int]] = {}  # by the storage's address
        self._sum = 0

    @property
    def steps(self) -> int:
        """Count all calls."""
        return self.calls.total()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # torch would import its compiler, seconds and 70 MB, to keep it out of this class; nothing is compiled here.
        return False

    def __enter__(self) -> Work:
        if self._python:
            self._nested = tracemalloc.is_tracing()
            if not self._nested:
                tracemalloc.start()
            tracemalloc.reset_peak()
            self._before = tracemalloc.get_traced_memory()[0]
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if self._python:
            self.bytes = max(0, tracemalloc.get_traced_memory()[1] - self._before)
            if not self._nested:
                tracemalloc.stop()
        self._alive.clear()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls[function.overloadpacket.__name__] += 1
        out = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, Tensor) and tensor.layout is torch.strided and tensor.device.type != "meta":
                self._note(tensor)
        return out

    def _note(self, tensor: Tensor) -> None:
        # A view that repeats entries owns no memory of its own: what counts is what lies behind it.
        storage = tensor.untyped_storage()
        size = storage.nbytes() // max(tensor.element_size(), 1)
        self.largest = max(self.largest, size)
        self.made += tensor.numel()
        if storage._cdata in self._alive:
            return
        # A weak reference keeps the address from being used again, so what is in the table is this very storage.
        self._alive[storage._cdata] = (StorageWeakRef(storage), size)
        self._sum += size
        # Looking through all of them at each step would cost more than the answer itself, where it keeps many.
        if self._sum > self.held + (self.held // 20 if len(self._alive) > 64 else 0):
            self._alive = {at: one for at, one in self._alive.items() if not one[0].expired()}
            self._sum = sum(n for _, n in self._alive.values())
            self.held = max(self.held, self._sum)


class Calls:
    """Notes which of some functions are called, whatever name they are called by.

    Args:
        functions: Python's or built into torch.

    Attributes:
        seen: the names of those that were called.

    >>> with Calls([torch.nn.functional.layer_norm]) as calls:
    ...     _ = torch.nn.LayerNorm(3)(torch.ones(3))
    >>> calls.seen
    ['layer_norm']
    """

    def __init__(self, functions: Iterable[Callable]) -> None:
        self.seen: list[str] = []
        self._names = {getattr(one, "__code__", one): one.__name__ for one in functions}

    def __enter__(self) -> Calls:
        self._before = sys.getprofile()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *error: Any) -> None:
        sys.setprofile(self._before)

    def _note(self, frame: FrameType, event: str, called: Any) -> None:
        if event not in ("call", "c_call"):
            return
        name = self._names.get(frame.f_code if event == "call" else called)
        if name and name not in self.seen:
            self.seen.append(name)


class SlowMemory:
    """Hands out rows of matrices, a tile at a time, and counts the numbers that move.

    Args:
        size: the most rows that may be read at once.
        budget: the most numbers that may move in all.
        matrices: name -> (n, d).

    Attributes:
        width: numbers of a row.

    Raises:
        Hoarding: more is read than there is room for, or than need be.

    >>> read = SlowMemory(2, 4, keys=torch.arange(6.0).reshape(3, 2))
    >>> read("keys", 2, 4)
    tensor([[4., 5.]])
    >>> read("keys", 0, 3)
    Traceback (most recent call last):
    attnlab.checks.instruments.Hoarding: It reads 3 rows at once; there is room for tiles of 2.
    """

    __name__ = "read"

    def __init__(self, size: int, budget: int, **matrices: Tensor) -> None:
        self._size, self._budget, self._moved = size, budget, 0
        # As arrays: a view of a tensor would count as if all of it were in fast memory.
        self._matrices = {name: matrix.numpy() for name, matrix in matrices.items()}
        self.width = max(matrix.shape[1] for matrix in matrices.values())

    def __call__(self, name: str, start: int, stop: int) -> Tensor:
        """Bring rows `start` to `stop` - 1 into fast memory."""
        if name not in self._matrices:
            raise ValueError(f"name must be one of {', '.join(self._matrices)}, got {name!r}")
        if start < 0 or stop < 0:
            raise ValueError(f"rows are counted from the first one, got {start} to {stop}")
        rows = self._matrices[name][start:stop]
        if len(rows) > self._size:
            raise Hoarding(f"It reads {len(rows)} rows at once; there is room for tiles of {self._size}.")
        self._moved += rows.size
        if self._moved > self._budget:
            raise Hoarding(f"It reads more than the {self._budget:,} numbers that have to move.")
        return torch.from_numpy(rows).clone()


class once(Iterator):
    """Hand out items one after the other, and only once.

    Args:
        items: what is handed out; a tensor, or a tuple of tensors, as a copy of its own.
        what: what they are called when somebody asks again.

    Attributes:
        items: all of them.

    Raises:
        Hoarding: it was read to its end and is asked again.

    >>> tiles = once([1, 2])
    >>> list(tiles), [x for x in tiles]
    Traceback (most recent call last):
    attnlab.checks.instruments.Hoarding: It reads the items a second time; they come only once.
    """

    def __init__(self, items: Iterable[Any], what: str = "items") -> None:
        self.items, self._what, self._over = list(items), what, False
        self._items = iter(self.items)

    def to(self, dtype: torch.dtype) -> once:
        """Hand out the same items, floating tensors in `dtype`."""

        def cast(part: Any) -> Any:
            return part.to(dtype) if isinstance(part, Tensor) and part.is_floating_point() else part

        return once([tree_map(cast, item) for item in self.items], self._what)

    def __next__(self) -> Any:
        try:
            item = next(self._items)
        except StopIteration:
            if self._over:
                raise Hoarding(f"It reads the {self._what} a second time; they come only once.") from None
            self._over = True
            raise
        if isinstance(item, tuple):
            return tuple(part.clone() if isinstance(part, Tensor) else part for part in item)
        return item.clone() if isinstance(item, Tensor) else item

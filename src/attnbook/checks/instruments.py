"""What an answer computes and holds on its way: for exercises that ask *how*, not only *what*."""

from __future__ import annotations

import functools
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, _push_mode
from torch.utils._pytree import tree_map


class Hoarding(Exception):
    """What `once` raises when an answer asks for its items a second time."""


UNWRITTEN = {
    *(
        "lift_fresh",
        "empty",
        "empty_like",
        "empty_strided",
        "empty_permuted",
        "new_empty",
        "new_empty_strided",
    ),
    *(
        "set_",
        "resize_",
        "resize_as_",
        "as_strided_",
        "detach_",
        "squeeze_",
        "unsqueeze_",
        "t_",
        "transpose_",
    ),
}
"""Operations that hand out memory, take it from Python or change how it is read, and write no number."""
PLACED = {
    *("index_put_", "_index_put_impl_", "index_copy_", "index_add_", "index_fill_", "masked_scatter_"),
    *("scatter_", "scatter_add_", "scatter_reduce_", "put_"),
}
"""Operations that write some numbers of a tensor in place: as many as they are given."""


class Memory:
    """Counts the bytes that Python and NumPy take: the largest number at once, without torch's.

    Attributes:
        bytes: so many more than before. An import takes some too, and five times as long as else.

    >>> with Memory() as memory:
    ...     _ = bytearray(1_000_000)
    >>> 1_000_000 < memory.bytes < 1_010_000
    True
    """

    bytes = 0

    def __enter__(self) -> Memory:
        self._nested = tracemalloc.is_tracing()
        if not self._nested:
            tracemalloc.start()
        tracemalloc.reset_peak()
        self._before = tracemalloc.get_traced_memory()[0]
        return self

    def __exit__(self, *error: Any) -> None:
        self.bytes = max(0, tracemalloc.get_traced_memory()[1] - self._before)
        if not self._nested:
            tracemalloc.stop()


class Work(TorchDispatchMode):
    """Counts what torch computes and holds.

    What counts as computed is every number that an operation of torch writes: all of a tensor that gets memory of its
    own (a sum, a product, a copy, a `reshape` that has to copy), and what is written in place into memory that is
    there (`x += 1` counts x, `x[2] = y` that row, writing at indices the numbers given). A view costs nothing: a slice, a
    transpose, `expand`, `unfold`, a `reshape` that need not copy; nor does memory that is handed out unwritten, such
    as `torch.empty`. Each of torch's kernels counts by what it leaves behind: the products inside a matrix product
    or inside fused attention are not seen.

    It counts in every thread that starts meanwhile and under every name that an operation has, `torch.ops.aten` among
    them. It does not see torch in threads or processes from before, sparse tensors, nor what NumPy and plain Python
    *compute*: `Memory` finds a large table there, but nothing finds a long loop.

    Attributes:
        largest: numbers of the largest tensor that was made.
        made: numbers that were written, one after the other.
        held: numbers of all tensors that were made and were alive at once, at the worst moment (to 5 % where they are
            many), written or not.
        bytes: what `Memory` counted in a call of its own, if somebody sets it.
        calls: how often each of torch's operations ran, by the name that torch dispatches it by.
        steps: how many of torch's operations ran, one after the other; views are none.

    >>> with Work() as work:
    ...     _ = (torch.ones(4, 1) * torch.ones(1, 4)).mT[:2].sum()
    >>> work.largest, work.made, work.steps
    (16, 25, 4)
    """

    def __init__(self) -> None:
        super().__init__()
        self.largest = self.made = self.held = self.bytes = self.steps = 0
        self.calls: Counter[str] = Counter()
        self._alive: dict[int, tuple[StorageWeakRef, int]] = {}  # by the storage's address
        self._sum = 0
        self._lock = threading.Lock()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # torch would import its compiler, seconds and 70 MB, to keep it out of this class; nothing is compiled here.
        return False

    def __enter__(self) -> Work:
        self._others = threading.gettrace()
        threading.settrace(self._join)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        threading.settrace(self._others)
        self._alive.clear()

    def _join(self, frame: FrameType, event: str, _: Any) -> None:
        """Count in a thread that has just started: torch's modes are a thread's own, as Python's tracers are."""
        sys.settrace(None)
        _push_mode(self)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **kwargs) if kwargs else function(*args)
        name, writes, makes = _writing(function)
        with self._lock:
            self.calls[name] += 1
            if not writes and not makes:
                return out
            if name not in UNWRITTEN:
                self.steps += 1
                for place in writes:
                    self.made += _numbers(name, place, args, kwargs or {})
            if makes:
                self._note(out, name not in UNWRITTEN)
        return out

    def _note(self, made: Any, written: bool) -> None:
        if isinstance(made, (tuple, list)):
            for one in made:
                self._note(one, written)
            return
        if not isinstance(made, Tensor) or made.layout is not torch.strided or made.device.type == "meta":
            return
        storage = made.untyped_storage()
        if storage._cdata in self._alive:
            return
        size = storage.nbytes() // made.element_size()
        self.largest = max(self.largest, size)
        if written:
            self.made += size
        # A weak reference keeps the address from being used again, so what is in the table is this very storage.
        self._alive[storage._cdata] = (StorageWeakRef(storage), size)
        self._sum += size
        # Looking through all of them at each step would cost more than the answer itself, where it keeps many.
        if self._sum > self.held + (self.held // 20 if len(self._alive) > 64 else 0):
            self._alive = {at: one for at, one in self._alive.items() if not one[0].expired()}
            self._sum = sum(n for _, n in self._alive.values())
            self.held = max(self.held, self._sum)


@functools.cache
def _writing(function: Any) -> tuple[str, tuple[int | str, ...], bool]:
    """An operation's name, the arguments that it writes into, and whether what it returns has memory of its own."""
    name, schema = function.overloadpacket.__name__, function._schema
    writes = tuple(
        one.name if one.kwarg_only else place
        for place, one in enumerate(schema.arguments)
        if one.alias_info is not None and one.alias_info.is_write
    )
    if name in (
        "_unsafe_view",
        "lift_fresh",
    ):  # a view that does not say so; numbers from Python, which say they are one
        return name, writes, name == "lift_fresh"
    return name, writes, not all(one.alias_info is not None for one in schema.returns)


def _numbers(name: str, place: int | str, args: tuple, kwargs: dict[str, Any]) -> int:
    """How many numbers an operation writes into one of its arguments."""
    written = (
        kwargs[place]
        if place in kwargs
        else args[place]
        if isinstance(place, int) and place < len(args)
        else None
    )
    if name in PLACED:
        given = [one for i, one in enumerate((*args, *kwargs.values())) if i != place]
        given += [one for many in given if isinstance(many, (tuple, list)) for one in many]
        return max((one.numel() for one in given if isinstance(one, Tensor)), default=0)
    return sum(
        one.numel()
        for one in (written if isinstance(written, (tuple, list)) else (written,))
        if isinstance(one, Tensor)
    )


class Calls:
    """Notes which of some functions are called, whatever name they are called by, in all threads that start meanwhile.

    Args:
        functions: Python's or built into torch; of the latter also what `torch.ops.aten` has under the same name. A
            text is a module: then any function of it.

    Attributes:
        seen: the names of those that were called.

    >>> with Calls([torch.nn.functional.layer_norm]) as calls:
    ...     _ = torch.nn.LayerNorm(3)(torch.ones(3))
    >>> calls.seen
    ['layer_norm']
    """

    def __init__(self, functions: Iterable[Callable | str]) -> None:
        self.seen: list[str] = []
        self._modules = tuple(one for one in functions if isinstance(one, str))
        self._names: dict[Any, str] = {}
        for one in functions:
            if isinstance(one, str):
                continue
            self._names[getattr(one, "__code__", one)] = one.__name__
            packet = None if hasattr(one, "__code__") else getattr(torch.ops.aten, one.__name__, None)
            if packet is not None:
                ops = (packet, *(getattr(packet, overload) for overload in packet.overloads()))
                self._names |= {op._op: one.__name__ for op in ops}

    def __enter__(self) -> Calls:
        self._before, self._others = sys.getprofile(), threading.getprofile()
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *error: Any) -> None:
        sys.setprofile(self._before)
        threading.setprofile(self._others)

    def _note(self, frame: FrameType, event: str, called: Any) -> None:
        if event not in ("call", "c_call"):
            return
        name = self._names.get(frame.f_code if event == "call" else called)
        if not name and event == "call" and self._modules:
            module = frame.f_globals.get("__name__", "")
            name = next((one for one in self._modules if module.startswith(one)), None)
        if name and name not in self.seen:
            self.seen.append(name)


class SlowMemory:
    """Hands out rows of matrices, a tile at a time, and counts the numbers that move.

    Args:
        size: the most rows that may be read at once.
        budget: name -> the most of its numbers that may move.
        matrices: name -> (n, d).

    Attributes:
        width: numbers of a row.

    Raises:
        Hoarding: more is read than there is room for, or than need be.

    >>> read = SlowMemory(2, {"keys": 4}, keys=torch.arange(6.0).reshape(3, 2))
    >>> read("keys", 2, 4)
    tensor([[4., 5.]])
    >>> read("keys", 0, 3)
    Traceback (most recent call last):
    attnbook.checks.instruments.Hoarding: It reads 3 rows at once; there is room for tiles of 2.
    >>> _ = read("keys", 0, 1)
    >>> read("keys", 1, 2)
    Traceback (most recent call last):
    attnbook.checks.instruments.Hoarding: It reads more than the 4 numbers of the keys that have to move.
    """

    __name__ = "read"

    def __init__(self, size: int, budget: dict[str, int], **matrices: Tensor) -> None:
        self._size, self._left, self._budget = size, dict(budget), budget
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
        self._left[name] -= rows.size
        if self._left[name] < 0:
            raise Hoarding(
                f"It reads more than the {self._budget[name]:,} numbers of the {name} that have to move."
            )
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
    attnbook.checks.instruments.Hoarding: It reads the items a second time; they come only once.
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

"""A communicator that counts: every byte that leaves a process goes through one function."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor

HEADER = 512
"""Bytes of a header: what a process is about to do, in words; of longer ones the beginning and a hash."""


class Communicator:
    """What the processes of a group say to each other, on `torch.distributed`, counted where it is sent.

    All that is more than one message (`all_reduce`, `all_gather`, `all_to_all`) is made of single ones here,
    so that the counts are counts and no estimates. Libraries of collectives send as many bytes, in pieces of
    other sizes.

    Without a process group there is one process, alone, which sends nothing.

    Args:
        group: as `torch.distributed.new_group` makes it; all processes unless given.
        check: compare what all are about to do before anything is sent (`agree`). Every call then costs
            `HEADER` bytes to each of the others.
        listener: called with what this process does now, in words.

    Attributes:
        rank: number of this process in the group.
        size: processes of the group.
        sent: bytes that this process sent, by kind.
        messages: how many messages these were, by kind.
        work: what attention did here: "blocks" of a run of queries and a run of keys that were computed,
            "skipped" blocks of which nothing is visible, and "scores", how many a head made in the forward
            pass.

    References:
        Thakur et al. 2005, section 4 (what collectives send).

    >>> alone = Communicator()
    >>> alone.rank, alone.size, alone.all_reduce(torch.ones(2), "sum").tolist(), dict(alone.sent)
    (0, 1, [1.0, 1.0], {})
    """

    def __init__(
        self,
        group: dist.ProcessGroup | None = None,
        *,
        check: bool = True,
        listener: Callable[[str], object] | None = None,
    ) -> None:
        there = dist.is_available() and dist.is_initialized()
        self.group, self.check, self._listener = group, check, listener
        self.rank = dist.get_rank(group) if there else 0
        self.size = dist.get_world_size(group) if there else 1
        if self.rank < 0:
            raise ValueError("this process is not in the group")
        self.sent, self.messages, self.work = Counter(), Counter(), Counter()

    def reset(self) -> None:
        """Begin to count anew."""
        for count in (self.sent, self.messages, self.work):
            count.clear()

    def says(self, what: str) -> None:
        """Tell the listener what this process does now: read where it hangs or dies."""
        if self._listener is not None:
            self._listener(what)

    def exchange(
        self, sends: dict[int, Tensor], receives: dict[int, Tensor], kind: str
    ) -> Callable[[], dict[int, Tensor]]:
        """Start to send a tensor to each of some processes, and to receive one from each of others.

        Args:
            sends: what goes to which process.
            receives: what comes from which, as empty tensors of the right shape.
            kind: the name under which it is counted.

        Returns:
            A function that waits until all is done, and returns what came. A message of nothing is not sent.
        """
        sends = {rank: x.contiguous() for rank, x in sends.items() if x.numel()}
        jobs = []
        for rank, x in sends.items():
            self.sent[kind] += x.numel() * x.element_size()
            self.messages[kind] += 1
            jobs.append(dist.P2POp(dist.isend, x, group=self.group, group_peer=rank))
        awaited = [rank for rank, x in receives.items() if x.numel()]
        jobs += [dist.P2POp(dist.irecv, receives[r], group=self.group, group_peer=r) for r in awaited]
        self.says(f"sends {kind} to {list(sends)}")
        works = dist.batch_isend_irecv(jobs) if jobs else []

        def wait() -> dict[int, Tensor]:
            self.says(f"waits for {kind} from {awaited}")
            for work in works:
                work.wait()
            sends.clear()  # kept until here: torch reads them while they are sent
            self.says(f"has got {kind}")
            return receives

        return wait

    def shift(self, x: Tensor, comes: Tensor, kind: str, *, by: int = 1) -> Callable[[], Tensor]:
        """Start to pass a tensor on around the ring: to the process `by` places ahead.

        Args:
            x: what goes.
            comes: an empty tensor for what comes, from the process as far behind.
            kind: the name under which it is counted.
            by: how many places.

        Returns:
            A function that waits and returns what came.
        """
        source = (self.rank - by) % self.size
        wait = self.exchange({(self.rank + by) % self.size: x}, {source: comes}, kind)
        return lambda: wait()[source]

    def all_reduce(self, x: Tensor, kind: str) -> Tensor:
        """Add up a tensor of the same shape over all processes: every part goes around the ring twice.

        Args:
            x: any shape.
            kind: the name under which it is counted.

        Returns:
            The sum, the same to the last bit in all processes.
        """
        parts, (rank, size) = list(x.flatten().tensor_split(self.size)), (self.rank, self.size)
        for step in range(size - 1):  # each part collects what all have of it
            at = (rank - step - 1) % size
            got = self.shift(parts[(rank - step) % size], torch.empty_like(parts[at]), kind)()
            parts[at] = parts[at] + got
        for step in range(size - 1):  # and is shown to all
            at = (rank - step) % size
            parts[at] = self.shift(parts[(at + 1) % size], torch.empty_like(parts[at]), kind)()
        return torch.cat(parts).view(x.shape)

    def all_gather(self, x: Tensor, shapes: Sequence[Sequence[int]], kind: str) -> list[Tensor]:
        """Collect a tensor of every process: each sends its own to all others.

        Args:
            x: that of this one.
            shapes: those of all, in order of rank.
            kind: the name under which it is counted.

        Returns:
            The tensors, in order of rank.
        """
        return self.all_to_all([x] * self.size, shapes, kind)

    def all_to_all(self, parts: Sequence[Tensor], shapes: Sequence[Sequence[int]], kind: str) -> list[Tensor]:
        """Give every process a tensor of its own, and get one from each.

        Args:
            parts: what goes to each process, in order of rank; the own part stays here.
            shapes: those of what comes from each.
            kind: the name under which it is counted.

        Returns:
            What came, in order of rank.
        """
        others = [rank for rank in range(self.size) if rank != self.rank]
        receives = {rank: parts[0].new_empty(shapes[rank]) for rank in others}
        got = self.exchange({rank: parts[rank] for rank in others}, receives, kind)()
        return [parts[rank] if rank == self.rank else got[rank] for rank in range(self.size)]

    def agree(self, what: str, like: Tensor) -> None:
        """Find out whether all are about to do the same, before anything else is sent.

        Args:
            what: what this process is about to do, in words.
            like: a tensor of the device that messages go by.

        Raises:
            ValueError: another process is about to do something else; the message says what each one is. All
                processes raise it.
        """
        if not self.check or self.size == 1:
            return
        text = what.encode()
        if len(text) > HEADER:
            text = text[: HEADER - 32] + hashlib.sha256(text).hexdigest()[:32].encode()
        header = torch.tensor(list(text.ljust(HEADER)), dtype=torch.uint8, device=like.device)
        headers = self.all_gather(header, [(HEADER,)] * self.size, "headers")
        said = [bytes(one.tolist()).decode(errors="replace").strip() for one in headers]
        if len(set(said)) > 1:
            each = "\n".join(f"  rank {rank}: {one}" for rank, one in enumerate(said))
            raise ValueError(f"the processes do not agree on what to do:\n{each}")


def described(**tensors: Tensor) -> str:
    """Describe tensors for a header: dtype, shape but for the number of tokens, and who wants a gradient.

    >>> described(q=torch.zeros(1, 2, 7, 4), k=torch.zeros(1, 2, 7, 4, requires_grad=True))
    'q float32 (1, 2, n, 4), k float32 (1, 2, n, 4) with gradient'
    """

    def one(name: str, x: Tensor) -> str:
        sizes = ", ".join("n" if at == x.dim() - 2 else str(size) for at, size in enumerate(x.shape))
        wanted = " with gradient" if x.requires_grad and torch.is_grad_enabled() else ""
        return f"{name} {str(x.dtype).removeprefix('torch.')} ({sizes}){wanted}"

    return ", ".join(one(name, x) for name, x in tensors.items())

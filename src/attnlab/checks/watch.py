"""What an answer makes on its way: the size of its tensors, and how many there are."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class Endless(Exception):
    """So much was computed that the answer would never stop."""


class Watch(TorchDispatchMode):
    """Notes what an answer makes, and may stop it.

    Args:
        large: from this many numbers on a tensor counts as large.
        most: numbers that may be made in all; one more raises `Endless`.

    Attributes:
        numbers: the size of the largest tensor.
        many: how many large ones were made.
    """

    def __init__(self, large: float = math.inf, most: float = math.inf) -> None:
        super().__init__()
        self.large, self.most = large, most
        self.numbers = self.many = self.made = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        if isinstance(out, Tensor):
            # A view that repeats entries owns no memory of its own: what counts is what lies behind it.
            size = out.untyped_storage().nbytes() // out.element_size()
            self.numbers = max(self.numbers, size)
            self.many += size >= self.large
            self.made += out.numel()
            if self.made > self.most:
                raise Endless(f"it made {self.made:,} numbers")
        return out

"""In which precision numbers are added up, whatever the inputs are stored in."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor

WORKING = (torch.float32, torch.float64)


def working_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype that sums are kept in: float32 for the halves, which soon stop growing.

    Args:
        dtype: that of the inputs.

    Returns:
        The same, or float32.

    >>> working_dtype(torch.bfloat16), working_dtype(torch.float64)
    (torch.float32, torch.float64)
    """
    return dtype if dtype in WORKING else torch.float32


def working(x: Tensor) -> Tensor:
    """Return a tensor in its `working_dtype`: itself, unless it is in half precision.

    >>> working(torch.ones(2, dtype=torch.float16)).dtype
    torch.float32
    """
    return x if x.dtype in WORKING else x.to(torch.float32)


def unit(x: Tensor) -> Tensor:
    """Return vectors (..., d) at length one, in the dtype they came in; those of zeros stay zeros.

    The length is taken in `working_dtype`: in half precision it would leave the range of the numbers, and
    what torch divides by in place of zero would be zero itself.

    >>> unit(torch.tensor([[300.0, 400.0], [0.0, 0.0]], dtype=torch.float16)).tolist()
    [[0.60009765625, 0.7998046875], [0.0, 0.0]]
    """
    return F.normalize(working(x), dim=-1).to(x.dtype)


def without_autocast(x: Tensor) -> AbstractContextManager:
    """Return a context in which the dtypes are those that the code chose.

    Args:
        x: a tensor of the device in question.

    Returns:
        The context; one that does nothing where autocast is off.

    >>> with torch.autocast("cpu", dtype=torch.bfloat16), without_autocast(torch.ones(1)):
    ...     (torch.ones(1, 1) @ torch.ones(1, 1)).dtype
    torch.float32
    """
    device = x.device.type
    try:  # asking first whether there is such a thing would break a compiled graph on torch 2.11
        on = torch.is_autocast_enabled(device)
    except RuntimeError:  # a device without autocast, like "meta"
        on = False
    return torch.autocast(device, enabled=False) if on else nullcontext()

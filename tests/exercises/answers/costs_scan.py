"""The recurrence with gates in O(log n) steps."""

import torch

from answers import wrong


@wrong("such as a table of n × n numbers")
def table(a, x):
    n = len(a)
    gates = a[:, None].expand(n, n).masked_fill(~torch.ones(n, n).tril(-1).bool(), 1.0)
    return gates.cumprod(0).tril() @ x

"""Attention beside a recurrent network, as it began: read a text, write another, look back at each step.

- `FixedVectorModel`: what is read becomes one vector. `BahdanauModel`: the same model, which looks back with
  the state before the step, s_{t-1}, and a small network as score.
- `LuongModel`: looks back with the state after the step, h_t, and a dot product, a matrix or a small network
  as score; at everything, or within a window that it places itself.

All are called alike: `model(source, target)` guesses every next token of a target that is given, and
`model.generate(source, bos_token_id=, eos_token_id=)` writes one. `Translator` is what they share.

>>> import torch
>>> source = torch.tensor([[3, 1, 4, 1, 5]])
>>> words, weights = LuongModel(9, 7).generate(source, bos_token_id=0, eos_token_id=1, max_new_tokens=4)
>>> weights.shape[-1]
5
"""

from attnlab.recurrent.bahdanau import BahdanauModel, FixedVectorModel
from attnlab.recurrent.luong import LuongModel
from attnlab.recurrent.translator import Memory, Step, Translator
from attnlab.recurrent.units import BidirectionalEncoder, GatedUnit

__all__ = [
    "BahdanauModel",
    "BidirectionalEncoder",
    "FixedVectorModel",
    "GatedUnit",
    "LuongModel",
    "Memory",
    "Step",
    "Translator",
]

"""Attention whose cost grows linearly with the length, forward and backward.

Softmax attention has to form every weight exp(q_i·k_j), because an exponential of a sum cannot be taken
apart. Here the weights can be: a sum over keys is taken once, and every query reads it. Causally that sum is
a state which runs along the sequence, and each function has two forms that agree: `recurrent`, one token at a
time, and `chunked`, matrix products within a chunk and the recurrence between chunks.

- `linear_attention`: any feature map. `elu_plus_one` (Linear Transformer), `PositiveFeatures` (Performer,
  FAVOR+), `FourierFeatures` and a gate (random feature attention).
- `gated_linear_attention`: a state that fades. `delta_rule`: a state that corrects itself, and may fade.
- `GatedDeltaNet`: the delta rule as a layer, which makes all that it needs of its tokens.
- `linformer_attention`: a fixed number of mixtures of the keys; not causal.
- `linear_step`, `gated_step`, `delta_step`: decode one token from a state of constant size.

Each causal function takes the state of the text before (`initial_state=`) and returns the one after it
(`return_state=True`), the same that its step takes and returns: a text can be read in pieces and continued
token by token. States and sums are kept in float32 at least, whatever the inputs; autocast changes nothing
(but Linformer's products, which are attention's).

All forms take empty dimensions, fake tensors and the transformations of `torch.func`. `torch.compile` runs
the chunked form outside its graph (so not with `fullgraph=True`), and takes all others whole. All but the
chunked form have a second derivative, and that one has it within `torch.func`.

>>> import torch
>>> q, k, v = torch.randn(3, 2, 100, 8)
>>> chunked = linear_attention(q, k, v, is_causal=True, block_size=16)
>>> torch.allclose(chunked, linear_attention(q, k, v, is_causal=True, form="recurrent"), atol=1e-5)
True
"""

from attnlab.linear.delta import delta_rule, delta_step
from attnlab.linear.features import FourierFeatures, PositiveFeatures, elu_plus_one, orthogonal_gaussian
from attnlab.linear.gated import gated_linear_attention, gated_step
from attnlab.linear.kernel import LinearState
from attnlab.linear.layers import DeltaNetState, GatedDeltaNet
from attnlab.linear.linformer import linformer_attention
from attnlab.linear.transformer import linear_attention, linear_step

__all__ = [
    "DeltaNetState",
    "FourierFeatures",
    "GatedDeltaNet",
    "LinearState",
    "PositiveFeatures",
    "delta_rule",
    "delta_step",
    "elu_plus_one",
    "gated_linear_attention",
    "gated_step",
    "linear_attention",
    "linear_step",
    "linformer_attention",
    "orthogonal_gaussian",
]

"""Break the package in small ways and see the tests turn red.

    python tests/mutants/run.py            all mutants
    python tests/mutants/run.py scale mask those whose names contain one of these

Each mutant is one exact change of one place in a copy of src/; the tests named beside it must then fail.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Mutant:
    """One way to be wrong."""

    name: str
    file: str
    right: str
    wrong: str
    tests: str


MUTANTS = (
    Mutant("softmax over the queries", "scores.py", "torch.softmax(scores, dim)", "torch.softmax(scores, -2)",
           "unit/test_scores.py"),
    Mutant("no scale", "scores.py", "scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale",
           "scale = 1.0 if scale is None else scale", "unit/test_attention.py"),
    Mutant("scale by d instead of its root", "scores.py", "1 / math.sqrt(q.shape[-1])",
           "1 / q.shape[-1]", "unit/test_attention.py"),
    Mutant("mask after the softmax", "scores.py",
           "    scores, empty = _opened(scores, mask, dim)\n    if temp",
           "    empty = mask is not None and ~mask\n    if temp",
           "unit/test_scores.py"),
    Mutant("inverted mask", "scores.py", "return scores.masked_fill(~mask, -math.inf)",
           "return scores.masked_fill(mask, -math.inf)", "unit/test_scores.py"),
    Mutant("the empty row is uniform", "scores.py", ", dim).masked_fill(empty, 0.0)", ", dim)",
           "unit/test_scores.py"),
    Mutant("the empty row is NaN", "scores.py", "return scores.masked_fill(empty, 0.0), empty",
           "return scores, scores != scores", "unit/test_scores.py"),
    Mutant("the output forgets the empty row", "dot_product.py",
           "out = out if empty is None else out.masked_fill(empty, 0.0)", "pass", "unit/test_attention.py"),
    Mutant("the weights forget the empty row", "dot_product.py",
           "weights if empty is None else weights.masked_fill(empty, 0.0)", "weights",
           "unit/test_attention.py"),
    Mutant("the mask is forgotten beside a bias", "dot_product.py",
           "bias = bias if mask is None else bias.masked_fill(~mask, -math.inf)", "bias = bias",
           "unit/test_attention.py"),
    Mutant("the weights see what is hidden", "dot_product.py", "masked_fill(~mask, -math.inf)\n\n\ndef _past",
           "masked_fill(~mask, -1.0)\n\n\ndef _past", "unit/test_attention.py"),
    Mutant("the weights are a softmax over the queries", "dot_product.py", "torch.softmax(scores, -1)",
           "torch.softmax(scores, -2)", "unit/test_attention.py"),
    Mutant("causal is forgotten when a mask is given", "dot_product.py",
           "mask = past if mask is None else mask & past", "mask = past if mask is None else mask",
           "unit/test_attention.py"),
    Mutant("causal off by one", "masks.py", ".tril()", ".tril(-1)", "unit/test_masks.py"),
    Mutant("causal sees one ahead", "masks.py", ".tril()", ".tril(1)", "unit/test_masks.py"),
    Mutant("padding on the wrong side", "masks.py", "< lengths[:, None])", ">= n - lengths[:, None])",
           "unit/test_masks.py"),
    Mutant("window looks the wrong way", "masks.py", "offset = position - position[:, None]",
           "offset = position[:, None] - position", "unit/test_masks.py"),
    Mutant("a prefix that is not causal after its end", "masks.py",
           "return causal(n, device=seen.device) | seen",
           "return seen.expand(-1, n, n)", "unit/test_masks.py"),
    Mutant("packed looks at places, not documents", "masks.py",
           "documents[..., :, None] == documents[..., None, :]",
           "documents[..., :, None] >= documents[..., None, :]", "unit/test_masks.py"),
    Mutant("leaks names the last pair", "masks.py", "(int(first[0, 0]), int(first[0, 1]))",
           "(int(first[-1, 0]), int(first[-1, 1]))", "unit/test_masks.py"),
    Mutant("leaks forgets the mask it was given", "masks.py", "(causal(n) if mask is None else mask).to",
           "causal(n).to", "unit/test_masks.py"),
    Mutant("rotary shifted by one", "positions.py", "positions.to(dtype)[..., None]",
           "(positions.to(dtype) + 1)[..., None]", "unit/test_positions.py"),
    Mutant("rotary turns the wrong pairs", "positions.py",
           '(x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else', "", "unit/test_positions.py"),
    Mutant("rotary mirrors instead of turning", "positions.py",
           "pair = a * cos - b * sin, a * sin + b * cos", "pair = a * cos + b * sin, a * sin + b * cos",
           "unit/test_positions.py"),
    Mutant("sine and cosine swapped", "positions.py", "(angles.sin(), angles.cos())",
           "(angles.cos(), angles.sin())", "unit/test_positions.py"),
    Mutant("the rotation goes backwards", "positions.py",
           "torch.stack((cos, sin), -1), torch.stack((-sin, cos), -1)",
           "torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)", "unit/test_positions.py"),
    Mutant("relative distances turned around", "positions.py", "return place - place[n_k - n_q :, None]",
           "return place[n_k - n_q :, None] - place", "unit/test_positions.py"),
    Mutant("cached queries stand at the start", "positions.py", "place - place[n_k - n_q :, None]",
           "place - place[:n_q, None]", "unit/test_positions.py"),
    Mutant("distances that are not clipped", "positions.py", ".clamp(-self.reach, self.reach)",
           ".remainder(self.reach + 1)", "unit/test_positions.py"),
    Mutant("the slopes between in order", "positions.py", "range(0, 2 * below, 2)", "range(below)",
           "unit/test_positions.py"),
    Mutant("ALiBi rewards distance", "positions.py", "return -slopes[:, None, None]",
           "return slopes[:, None, None]", "unit/test_positions.py"),
    Mutant("a tagger that drops its bias", "tagging/taggers.py",
           '{"bias": self._bias(n, x.device), "is_causal"', '{"bias": None, "is_causal"',
           "unit/test_tagging_training.py"),
    Mutant("heads split without moving them", "multihead.py",
           "x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)",
           "x.reshape(x.shape[0], -1, x.shape[1], self.d_head)", "unit/test_multihead.py"),
    Mutant("queries and keys swapped", "multihead.py", "((self.q_proj, x), (self.k_proj,",
           "((self.k_proj, x), (self.q_proj,",
           "unit/test_multihead.py"),
    Mutant("rotary on the queries alone", "multihead.py", "q, k = self.rotary(q, k,",
           "q, _ = self.rotary(q, k,", "unit/test_multihead.py"),
    Mutant("keys of cross-attention from the decoder", "multihead.py", "(self.k_proj, context)",
           "(self.k_proj, x)", "unit/test_multihead.py"),
    Mutant("three dimensions beside four are guessed at", "arguments.py",
           "known = value.dim() == len(shape) or value.dim() == 2 < len(shape)",
           "known = value.dim() <= len(shape)", "unit/test_attention.py"),
    Mutant("a mask of the keys that hides the queries", "arguments.py", "return key_mask.unsqueeze(-2)",
           "return key_mask.unsqueeze(-1)", "unit/test_multihead.py"),
    Mutant("weights of one head without the mask", "self_attention.py", "mask=mask,",
           "mask=None if need_weights else mask,", "unit/test_multihead.py"),
    Mutant("weights of one head see the future", "self_attention.py", "is_causal=is_causal,",
           "is_causal=is_causal and not need_weights,", "unit/test_multihead.py"),
    Mutant("one head drops weights when it is used", "self_attention.py",
           "dropout=self.dropout if self.training else 0.0", "dropout=self.dropout",
           "unit/test_multihead.py"),
    Mutant("many heads drop weights when they are used", "multihead.py",
           "dropout=self.dropout if self.training else 0.0", "dropout=self.dropout",
           "unit/test_multihead.py"),
    Mutant("weights that are shown are never dropped", "dot_product.py",
           "F.dropout(weights, dropout) if dropout else weights", "weights", "unit/test_attention.py"),
    Mutant("the short cut of a single query is taken where it must be causal", "dot_product.py",
           "if size > 1 and (q.shape[2] != 1 or is_causal):", "if size > 1 and q.shape[2] != 1:",
           "unit/test_multihead.py"),
    Mutant("values of fewer heads than keys", "dot_product.py",
           "if n_kv_heads != v.shape[1] or not shared:", "if not shared:", "unit/test_multihead.py"),
    Mutant("a bias of NaN counts as hiding", "dot_product.py", "(bias == -math.inf).all(-1, keepdim=True)",
           "~(bias > -math.inf).any(-1, keepdim=True)", "unit/test_attention.py"),
    Mutant("no scale where the fused kernel has a mask", "dot_product.py",
           "is_causal=is_causal, scale=scale\n", "is_causal=is_causal, scale=scale if is_causal else None\n",
           "unit/test_attention.py"),
    Mutant("scores in half precision", "dot_product.py", "x.float() if x.dtype in HALVES else x", "x",
           "unit/test_attention.py"),
    Mutant("scores that autocast rounds", "dot_product.py", "with _full_precision(q):",
           "with nullcontext():", "unit/test_attention.py"),
    Mutant("divided by a small temperature first", "scores.py",
           "(scores - scores.amax(dim, keepdim=True).detach()) / temperature", "scores / temperature",
           "unit/test_scores.py"),
    Mutant("sparsemax falls over a row of NaN", "scores.py", ".sum(-1, keepdim=True).clamp_min(1)",
           ".sum(-1, keepdim=True)", "unit/test_scores.py"),
    Mutant("leaks asks once", "masks.py", "for _ in range(3)", "for _ in range(1)", "unit/test_masks.py"),
    Mutant("leaks looks at the sum of the output", "masks.py", "(out[0, i] * direction).sum()",
           "out[0, i].sum()", "unit/test_masks.py"),
    Mutant("leaks overlooks what is faint", "masks.py", "100 * torch.finfo", "1e5 * torch.finfo",
           "unit/test_masks.py"),
    Mutant("leaks sees nothing under no_grad", "masks.py",
           "with torch.inference_mode(False), torch.enable_grad():", "with torch.inference_mode(False):",
           "unit/test_masks.py"),
    Mutant("pooled heads are made anew", "multihead.py", "pooled = copy.deepcopy(self)",
           "pooled = MultiHeadAttention(self.d_model, self.n_heads, d_head=self.d_head)",
           "unit/test_multihead.py"),
    Mutant("a cache in another precision than its layer", "multihead.py",
           "self.d_head, device=like.device, dtype=like.dtype)", "self.d_head, device=like.device)",
           "unit/test_multihead.py"),
    Mutant("rotary at whole places only", "positions.py", "positions.to(dtype)[..., None]",
           "positions.round().to(dtype)[..., None]", "unit/test_positions.py"),
    Mutant("rotary turns what it should leave alone", "positions.py",
           "torch.cat((part, x[..., width:]), -1)", "torch.cat((part, part[..., : x.shape[-1] - width]), -1)",
           "unit/test_positions.py"),
    Mutant("a refused call leaves its mark in the cache", "multihead.py",
           "        (batch, _, n_q, _), n_k = q.shape, k.shape[2]\n",
           "        (batch, _, n_q, _), n_k = q.shape, k.shape[2]\n"
           "        if cache is not None and cache.length:\n            cache.length = n_k\n",
           "unit/test_multihead.py"),
    Mutant("groups of heads in the wrong order", "dot_product.py", "x.repeat_interleave(size, dim=1)",
           "x.repeat(1, size, 1, 1)", "unit/test_multihead.py"),
    Mutant("a cache that starts at position zero", "multihead.py",
           "first = 0 if cache is None else cache.length", "first = 0", "unit/test_multihead.py"),
    Mutant("new tokens beside a cache see one another's future", "multihead.py",
           ".tril(n_k - n_q)", ".tril(n_k)", "unit/test_multihead.py"),
    Mutant("heads pooled out of order", "multihead.py",
           "(n_kv_heads, -1, self.d_head)).mean(1)", "(-1, n_kv_heads, self.d_head)).mean(0)",
           "unit/test_multihead.py"),
    Mutant("a cache that forgets its end", "cache.py", "self.length = kept[0].shape[2]",
           "self.length = k.shape[2]", "unit/test_multihead.py"),
    Mutant("a ceiling that takes the smallest count", "tagging/grammar.py", "sum(max(counts.values())",
           "sum(min(counts.values())", "unit/test_tagging_grammar.py"),
    Mutant("a checksum nobody compares", "tagging/treebank.py", "if got != checksum:", "if False:",
           "unit/test_tagging_treebank.py"),
    Mutant("the last epoch instead of the best", "tagging/training.py", "tagger.load_state_dict(best)",
           "pass", "unit/test_tagging_training.py"),
    Mutant("the figure's penalty rewards distance", "widgets/positions.py", "return -self.slope",
           "return self.slope", "unit/test_widget_positions.py"),
    Mutant("the figure's sentence is never shuffled", "widgets/positions.py",
           'matrix_of("x", self.x)[self.order]', 'matrix_of("x", self.x)', "unit/test_widget_positions.py"),
    Mutant("contractions stay whole", "tagging/words.py", "if low.endswith(ending)", "if False",
           "unit/test_shipped.py"),
    Mutant("a gradient that is promised and never compared", "checks/engine.py",
           "for name, slope in want.slopes.items():", "for name, slope in ():", "unit/test_checks.py"),
    Mutant("a mistake is named that fits the first case alone", "checks/engine.py",
           "for trial, got in outcomes:\n        if got.failed",
           "for trial, got in outcomes[:1]:\n        if got.failed", "unit/test_checks.py"),
    Mutant("work that is limited and never counted", "checks/engine.py", "if count > most:", "if False:",
           "unit/test_checks.py"),
    Mutant("any precision will do", "checks/engine.py",
           "if trial.dtype and isinstance(got.value, Tensor) and got.value.dtype != trial.dtype:",
           "if False:", "unit/test_checks.py"),
    Mutant("an answer that may change its arguments", "checks/running.py", "if not _same(old, after[name]):",
           "if False:", "unit/test_checks.py"),
    Mutant("a heat map that draws the transpose", "plots/charts.py", "value = float(values[i, j])",
           "value = float(values.T.reshape(values.shape)[i, j])", "unit/test_plots.py"),
    Mutant("markup in the figure's table", "tables.py", "html.escape(first)", "first",
           "unit/test_widgets.py"),
    Mutant("a Jacobian without its diagonal", "widgets/saturation.py",
           "return torch.diag_embed(products.sum(-1)) - products", "return -products",
           "unit/test_widgets.py"),
    Mutant("a painted mask that is always early", "widgets/masks.py",
           "scores.softmax(raw) * mask if self.late", "scores.softmax(raw, mask) if self.late",
           "unit/test_widgets.py"),
    Mutant("a figure that scales when it should not", "widgets/saturation.py",
           "return row if self.scaled else row * math.sqrt(self.d_k)", "return row", "unit/test_widgets.py"),
    Mutant("ratios of medians instead of medians of ratios", "benchmark.py",
           "return statistics.median(a / b for a, b in pairs)",
           "return self.median(slow) / self.median(fast) + 0 * len(list(pairs))", "unit/test_benchmark.py"),
    Mutant("the first candidate always starts", "benchmark.py", "first = turn % len(names)", "first = 0",
           "unit/test_benchmark.py"),
    Mutant("strided counts from the start of the sequence", "patterns.py", "(back % stride == 0)",
           "(position % stride == 0)", "unit/test_masks.py"),
    Mutant("summaries at the start of a block", "patterns.py", "(position % stride >= stride - summary)",
           "(position % stride < summary)", "unit/test_masks.py"),
    Mutant("random blocks may repeat", "patterns.py", "torch.where(again, last, pick)", "pick",
           "unit/test_masks.py"),
    Mutant("merging forgets to rescale the earlier tiles", "sparse/engine.py",
           "before, now = total * (top - highest).exp_()", "before, now = total.clone()",
           "unit/test_sparse.py"),
    Mutant("a fused sum of large scores is trusted", "sparse/engine.py", "LARGE = 128.0", "LARGE = 1e9",
           "unit/test_sparse.py"),
    Mutant("every piece of an overlapping tile is added to the first", "sparse/tiles.py",
           "Rows(self.start + at * self.spread, part", "Rows(self.start, part", "unit/test_sparse.py"),
    Mutant("the far tokens of strided attention start a stride too early", "sparse/factored.py",
           "near = (back < 2) if is_causal", "near = (back < 1) if is_causal", "unit/test_sparse.py"),
    Mutant("a global column counts in the window too", "sparse/bigbird.py",
           "return bias + hidden.transpose(2, 3)", "return bias + 0 * hidden.transpose(2, 3)",
           "unit/test_sparse.py"),
    Mutant("the rows of global tokens forget the scale", "sparse/bigbird.py", "mask=seen, scale=scale)",
           "mask=seen)", "unit/test_sparse_arguments.py"),
    Mutant("hashing always draws the same directions", "sparse/hashing.py", "-(-n // chunk), seed=seed)",
           "-(-n // chunk), seed=0)", "unit/test_sparse_arguments.py"),
    Mutant("a missing stride is rounded down", "sparse/factored.py", "round(math.sqrt(n))", "math.isqrt(n)",
           "unit/test_sparse_arguments.py"),
    Mutant("a hashed token sees itself", "sparse/hashing.py", "return _distance(step).sub_(1).clamp_",
           "return _distance(step).clamp_", "unit/test_sparse.py"),
    Mutant("the window's tiles are as wide as the sequence", "sparse/band.py",
           "first, last = max(0, start - before), min(n, start + rows + after)", "first, last = 0, n",
           "unit/test_sparse_cost.py"),
    Mutant("heads that share are not neighbours", "widgets/heads.py",
           "t.unflatten(0, (kv_heads, share)).mean(1).repeat_interleave(share, 0)",
           "t.unflatten(0, (share, kv_heads)).mean(0).repeat(share, 1, 1)", "unit/test_widget_heads.py"),
    Mutant("a head overlaps with itself", "widgets/heads.py", "(common.sum() - n)", "common.sum()",
           "unit/test_widget_heads.py"),
    Mutant("the head of another layer is removed", "tagging/shipped.py", "else head_weights[at]\n",
           "else head_weights[-1 - at]\n", "unit/test_shipped.py"),
    Mutant("linear attention's maximum looks ahead", "linear/kernel.py", ".cummax(dim=-2).values",
           ".amax(dim=-2, keepdim=True).expand(-1, scale.shape[-2] + 1, -1)", "unit/test_linear.py"),
    Mutant("a linear query forgets itself", "linear/kernel.py", ".tril_()  # (batch, c, c)",
           ".tril_(-1)  # (batch, c, c)", "unit/test_linear.py"),
    Mutant("no gradient through the sum of weights", "linear/kernel.py",
           "d_below = -(d_above * out).sum(-1, keepdim=True)",
           "d_below = torch.zeros_like(d_above[..., :1])", "unit/test_linear.py"),
    Mutant("a gate of 1 writes all the same", "linear/kernel.py", "key_mask = gate < 0", "pass",
           "unit/test_linear_edges.py"),
    Mutant("the state loses the gate's gradient", "linear/kernel.py", "(self.forgotten - lowered).exp()",
           "(lowered - lowered).exp()", "unit/test_linear_maps.py"),
    Mutant("the state keeps the scale it had", "linear/kernel.py", "return *(s * once.to(s) for s in sums), "
           "self.top + lowered", "return *(s * once.to(s) for s in sums), self.top",
           "unit/test_linear_states.py"),
    Mutant("a scaled state read as if it were not", "linear/kernel.py",
           "total * top.exp(), torch.zeros_like(top)", "total, torch.zeros_like(top)",
           "unit/test_linear_states.py"),
    Mutant("random features drawn again", "linear/kernel.py", "one[0].requires_grad or drawn",
           "one[0].requires_grad", "unit/test_linear_maps.py"),
    Mutant("asking a map costs random numbers", "linear/kernel.py", "generator.set_state(state)", "pass",
           "unit/test_linear_maps.py"),
    Mutant("a map that learns gets no gradient", "linear/kernel.py", "one[0].requires_grad or drawn", "drawn",
           "unit/test_linear.py"),
    Mutant("a step's weight ignores the maximum", "linear/transformer.py",
           "torch.maximum(top, scale).detach()", "scale.detach()", "unit/test_linear_states.py"),
    Mutant("a step's state in half precision", "linear/inputs.py",
           "x.to(working_dtype(x.dtype)) for x in tensors", "x for x in tensors",
           "unit/test_linear_states.py"),
    Mutant("a handed state starts from nothing", "linear/inputs.py",
           "    if state is None:\n        state = torch.zeros", "    if True:\n        state = torch.zeros",
           "unit/test_linear_states.py"),
    Mutant("autocast reaches into the steps", "linear/chunks.py", "torch.autocast(kind, enabled=False)",
           "contextlib.nullcontext()", "unit/test_linear_maps.py"),
    Mutant("garbage in hidden tokens", "linear/inputs.py", "return q, *hide(key_mask, k, v), key_mask",
           "return q, k, v, key_mask", "unit/test_linear_maps.py"),
    Mutant("a random matrix that is not saved", "linear/features.py",
           'self.register_buffer("projection", projection)',
           'self.register_buffer("projection", projection, persistent=False)', "unit/test_linear_maps.py"),
    Mutant("Fourier features are never orthogonal", "linear/features.py",
           "_draw(d, n_features, orthogonal, generator) / sigma",
           "_draw(d, n_features, False, generator) / sigma",
           "unit/test_linear_maps.py"),
    Mutant("positive features without their norm", "linear/features.py",
           "scale = top - x.square().sum(dim=-1, keepdim=True) / 2", "scale = top", "unit/test_linear.py"),
    Mutant("elu's slope where it learns", "linear/features.py", "return F.elu(x) + 1",
           "return F.elu(x, 0.9) + 1", "unit/test_linear.py"),
    Mutant("no gradient through a key's length", "linear/kernel.py", "(d_fk * fk).sum(-1, keepdim=True)",
           "torch.zeros_like(scale)", "unit/test_linear.py"),
    Mutant("decays measured from the wrong end", "linear/gated.py", "b_earlier[..., -1:, :]",
           "b_earlier[..., :1, :]", "unit/test_linear.py"),
    Mutant("hidden tokens let the state fade", "linear/gated.py", "(log_decay,) = hide(key_mask, log_decay)",
           "pass", "unit/test_linear_edges.py"),
    Mutant("Linformer forgets its scale", "linear/linformer.py", "@ v, scale=scale)", "@ v)",
           "unit/test_linear_edges.py"),
    Mutant("a hidden key's weight is remembered", "linear/kernel.py",
           "scale.masked_fill(key_mask == 0, LOWEST)", "scale", "unit/test_linear_edges.py"),
    Mutant("corrections that do not see each other", "linear/delta.py", "beta * (k @ k.mT)",
           "0 * (k @ k.mT)", "unit/test_linear.py"),
    Mutant("chunks differentiated from left to right", "linear/chunks.py",
           "for i in reversed(range(len(rows))):", "for i in range(len(rows)):", "unit/test_linear.py"),
    Mutant("a strided checker that calls the column right", "checks/sparse.py",
           "(b >= 0) & ((b <= s) | (j % s == 0)))", "(b >= 0) & ((b <= s) | (j % s == 99)))",
           "exercises/test_exercises.py"),
    Mutant("a block window that may build the matrix", "checks/sparse_window.py",
           "largest=lambda q, k, v, w: q.shape[-2] ** 2 / 4", "largest=lambda q, k, v, w: q.shape[-2] ** 3",
           "exercises/test_attacks_sparse.py"),
    Mutant("a block window whose gradient is not asked", "checks/sparse_window.py",
           'gradient("q", "k", "v"),', "", "exercises/test_exercises.py"),
    Mutant("a running state that may forget its normaliser", "checks/linear_state.py",
           'and divide.", _walk(divide="nothing")', 'and divide.", _walk(divide="z")',
           "exercises/test_exercises.py"),
    Mutant("keys may be stored where a state should run", "checks/linear_state.py",
           "made=lambda q, k, v, gate: 3 *", "made=lambda q, k, v, gate: 3000 *",
           "exercises/test_attacks_linear.py"),
    Mutant("a delta rule that may read columns", "checks/linear_state.py", "torch.outer(k, v - s @ k)",
           "torch.outer(k, s @ k)", "exercises/test_exercises.py"),
    Mutant("a cache that spreads one sequence over the batch", "cache.py",
           "(*room.shape[:2], n, room.shape[3])", "(*new.shape[:2], n, room.shape[3])",
           "unit/test_cache.py"),
    Mutant("values as wide as keys", "cache.py", "d_v = d_head if d_v is None else d_v", "d_v = d_head",
           "unit/test_cache.py"),
    Mutant("the worst round as the ceiling", "benchmark.py", "best = {name: min(values)",
           "best = {name: max(values)", "unit/test_benchmark.py"),
    Mutant("a peak of the setup hides the statement's", "benchmark.py", "_reset()\\n_before", "_before",
           "unit/test_benchmark.py"),
    Mutant("results written in place", "benchmark.py", 'temporary = path.with_suffix(".part")',
           "temporary = path", "unit/test_benchmark.py"),
    Mutant("tiles without the scale that is given", "sparse/tiled.py", "key_mask, scale, fused=False)[0]",
           "key_mask, None, fused=False)[0]", "unit/test_sparse_tiled.py"),
    Mutant("one tile for all", "sparse/tiled.py", "    at_least(1, tile=tile)\n",
           "    at_least(1, tile=tile)\n    tile = n\n", "unit/test_sparse_tiled.py"),
    Mutant("the figure's first correction", "widgets/online.py", "correction, e = math.exp(largest - new),",
           "correction, e = math.exp(largest - new) if steps else 1.0,", "unit/test_widgets.py"),
)  # fmt: skip
QUICK = ("no scale", "mask after the softmax", "causal sees one ahead", "rotary shifted by one",
         "heads split without moving them", "a gradient that is promised and never compared")  # fmt: skip


def survives(mutant: Mutant | None, tests: str) -> bool:
    """Say whether the tests pass on a copy of the package with this mutant, or with none."""
    with tempfile.TemporaryDirectory(prefix="attnlab-mutant-") as folder:
        source = Path(folder, "src")
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        if mutant:
            file = source / "attnlab" / mutant.file
            text = file.read_text(encoding="utf-8")
            if text.count(mutant.right) != 1:
                raise ValueError(
                    f"{mutant.name}: {mutant.file} has {text.count(mutant.right)} times {mutant.right!r}"
                )
            text = text.replace(mutant.right, mutant.wrong)
            file.write_text(text, encoding="utf-8")
        # The copy comes before the installed package on the path.
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            str(ROOT / "tests" / tests),
        ]
        environment = os.environ | {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        # 1 says that tests failed, and a mutant that cannot be imported ends pytest with an error of its own.
        # Anything else means that nothing was tried.
        if done.returncode not in (0, 1) and "Error" not in done.stdout + done.stderr:
            raise RuntimeError(
                f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-1000:]}"
            )
        return done.returncode == 0


def main() -> int:
    """Run the mutants whose names are asked for, after a copy without any."""
    words = sys.argv[1:]
    chosen = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    for tests in sorted({mutant.tests for mutant in chosen}):
        if not survives(None, tests):
            print(f"{tests} fails without any mutant")
            return 1
    alive = [mutant for mutant in chosen if _report(mutant)]
    print(f"{len(chosen) - len(alive)} of {len(chosen)} mutants were caught")
    return int(bool(alive))


def _report(mutant: Mutant) -> bool:
    alive = survives(mutant, mutant.tests)
    print(f"{'SURVIVES' if alive else 'caught  '}  {mutant.name}", flush=True)
    return alive


if __name__ == "__main__":
    sys.exit(main())

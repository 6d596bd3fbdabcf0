"""What the battery found in public implementations, shown again by hand: other numbers, no battery.

    PYTHONPATH=.cache/peers python benchmarks/battery_by_hand.py [--out FILE]

Each function makes a module, calls it as its documentation says, and returns what should be and what is, in
numbers that fit a line. What is known or documented is said beside it, with the thread where it was.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook import results

FOUND: list[tuple[str, str, str, str, Callable[[], tuple[Any, Any]]]] = []


def finding(package: str, property_: str, says: str, remark: str) -> Callable:
    """Note a finding: the package, the property, what is compared, and what is known of it."""

    def note(show: Callable[[], tuple[Any, Any]]) -> Callable:
        FOUND.append((package, property_, says, remark, show))
        return show

    return note


def draw(*shape: int, seed: int = 1) -> Tensor:
    """Return normal numbers, the same at every call."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    """Make a module with seeded weights, in eval mode."""
    torch.manual_seed(0)
    return make().eval()


def rounded(x: Tensor | float) -> Any:
    """Return numbers with three digits, "nan" as a word."""
    if isinstance(x, Tensor):
        return [rounded(one) for one in x.detach().double().tolist()] if x.dim() else rounded(float(x))
    if isinstance(x, list):
        return [rounded(one) for one in x]
    return "nan" if x != x else float(f"{x:.3g}")


# --- torch -------------------------------------------------------------------------------------------------


@finding(
    "torch",
    "empty row",
    "nn.MultiheadAttention with weights: the row that may see nothing",
    "known: pytorch/pytorch issue 41508, open since 2020; without weights it is zero",
)
def _() -> tuple[Any, Any]:
    layer, x = seeded(lambda: nn.MultiheadAttention(4, 2, batch_first=True)), draw(1, 3, 4)
    hidden = torch.tensor([[False] * 3, [True] * 3, [False] * 3])
    fused = layer(x, x, x, attn_mask=hidden, need_weights=False)[0][0, 1]
    return rounded(fused), rounded(layer(x, x, x, attn_mask=hidden)[0][0, 1])


@finding(
    "torch",
    "pieces",
    "scaled_dot_product_attention, is_causal, values 0 to 4: what the fifth query gets",
    "documented: with fewer queries than keys the first query stands beside the first key; "
    "pytorch/pytorch issue 108108",
)
def _() -> tuple[Any, Any]:
    q, v = torch.zeros(1, 1, 5, 1), torch.arange(5.0).view(1, 1, 5, 1)
    whole = F.scaled_dot_product_attention(q, q, v, is_causal=True)[..., -1, :]
    alone = F.scaled_dot_product_attention(q[..., -1:, :], q, v, is_causal=True)
    return rounded(whole.item()), rounded(alone.item())


@finding(
    "torch",
    "second call",
    "nn.TransformerEncoder: the row of a padded token, with gradients and without",
    "known: in eval mode and without gradients padding is cut away and comes back as zeros; "
    "pytorch/pytorch issues 86120 and 97111. Real tokens get the same",
)
def _() -> tuple[Any, Any]:
    layer = seeded(
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), 1)
    )
    x, padding = draw(2, 3, 4), torch.tensor([[False, False, True], [False, False, False]])
    graded = layer(x, src_key_padding_mask=padding)[0, 2]
    with torch.no_grad():
        return rounded(graded), rounded(layer(x, src_key_padding_mask=padding)[0, 2])


# --- transformers ------------------------------------------------------------------------------------------


@finding(
    "transformers",
    "empty row",
    "LlamaAttention, sdpa, with the library's lowest number for what is hidden: "
    "a row that may see nothing is the mean of all that is hidden from it",
    "meant: such rows are padding, and huggingface/transformers pull request 26572 opens them",
)
def _() -> tuple[Any, Any]:
    return opened("llama", "LlamaAttention", "LlamaConfig", kernel="sdpa")


@finding(
    "transformers",
    "empty row",
    "Qwen3Attention, eager, the same",
    "meant, as above",
)
def _() -> tuple[Any, Any]:
    return opened("qwen3", "Qwen3Attention", "Qwen3Config")


@finding(
    "transformers",
    "empty row",
    "Gemma2Attention, eager, the same",
    "meant, as above",
)
def _() -> tuple[Any, Any]:
    return opened("gemma2", "Gemma2Attention", "Gemma2Config", layer_types=["full_attention"])


def opened(family: str, name: str, config: str, *, kernel: str = "eager", **settings: Any) -> tuple[Any, Any]:
    """Return the mean of all values, and the row that may see nothing, of a layer as Llama's."""
    sizes = {"hidden_size": 4, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 4}
    config = getattr(import_module("transformers"), config)(**sizes, num_hidden_layers=1, **settings)
    config._attn_implementation = kernel
    module = import_module(f"transformers.models.{family}.modeling_{family}")
    layer, x = seeded(lambda: getattr(module, name)(config, 0)), draw(1, 3, 4)
    turn = torch.ones(1, 3, 4), torch.zeros(1, 3, 4)
    got = layer(x, position_embeddings=turn, attention_mask=nothing_for_the_second(x))[0][0, 1]
    mean = layer.o_proj(layer.v_proj(x).mean(1))[0]
    return f"not {rounded(mean)}", rounded(got)


def nothing_for_the_second(x: Tensor) -> Tensor:
    """Return the library's mask in which the second token may see nothing, (1, 1, 3, 3)."""
    mask = torch.zeros(1, 1, 3, 3)
    mask[:, :, 1] = torch.finfo(x.dtype).min
    return mask


@finding("transformers", "empty row", "BertSelfAttention, eager, the same", "meant, as above")
def _() -> tuple[Any, Any]:
    config = import_module("transformers").BertConfig(hidden_size=4, num_attention_heads=1)
    config._attn_implementation = "eager"
    module = import_module("transformers.models.bert.modeling_bert")
    layer, x = seeded(lambda: module.BertSelfAttention(config)), draw(1, 3, 4)
    got = layer(x, attention_mask=nothing_for_the_second(x))[0][0, 1]
    mean = layer.value(x).mean(1)[0]
    return f"not {rounded(mean)}", rounded(got)


@finding("transformers", "empty row", "GPT2Attention, eager, the same", "meant, as above")
def _() -> tuple[Any, Any]:
    config = import_module("transformers").GPT2Config(n_embd=4, n_head=1)
    config._attn_implementation = "eager"
    module = import_module("transformers.models.gpt2.modeling_gpt2")
    layer, x = seeded(lambda: module.GPT2Attention(config, layer_idx=0)), draw(1, 3, 4)
    got = layer(x, attention_mask=nothing_for_the_second(x))[0][0, 1]
    mean = layer.c_proj(layer.c_attn(x).chunk(3, -1)[2].mean(1))[0]
    return f"not {rounded(mean)}", rounded(got)


@finding("transformers", "empty row", "T5Attention, the same", "meant, as above")
def _() -> tuple[Any, Any]:
    config = import_module("transformers").T5Config(d_model=4, num_heads=1, d_kv=4)
    module = import_module("transformers.models.t5.modeling_t5")
    layer, x = seeded(lambda: module.T5Attention(config, layer_idx=0)), draw(1, 3, 4)
    got = layer(x, mask=nothing_for_the_second(x))[0][0, 1]
    mean = layer.o(layer.v(x).mean(1))[0]
    return f"not {rounded(mean)}", rounded(got)


# --- other packages ----------------------------------------------------------------------------------------


@finding(
    "labml-nn",
    "empty row",
    "MultiHeadAttention: the row that may see nothing",
    "-inf in a softmax; its own masks leave each row a key",
)
def _() -> tuple[Any, Any]:
    module = import_module("labml_nn.transformers.mha")
    layer, x = seeded(lambda: module.MultiHeadAttention(2, 4, 0.0)), draw(3, 1, 4)
    mask = torch.ones(3, 3, 1)
    mask[1] = 0
    return "finite", rounded(layer(query=x, key=x, value=x, mask=mask)[1, 0])


@finding(
    "fair-esm",
    "empty row",
    "MultiheadAttention: the row that may see nothing",
    "as torch's layer does where it returns weights",
)
def _() -> tuple[Any, Any]:
    module = import_module("esm.multihead_attention")
    layer, x = seeded(lambda: module.MultiheadAttention(4, 2)), draw(3, 1, 4)
    hidden = torch.tensor([[False] * 3, [True] * 3, [False] * 3])
    return "finite", rounded(layer(x, x, x, attn_mask=hidden)[0][1, 0])


@finding(
    "x-transformers",
    "precision",
    "Attention in bfloat16: the dtype of the output, under a mask of keys",
    "no thread found; without a mask it is bfloat16",
)
def _() -> tuple[Any, Any]:
    attention = import_module("x_transformers.x_transformers").Attention
    layer = seeded(lambda: attention(dim=4, heads=2, dim_head=2)).to(torch.bfloat16)
    out = layer(draw(1, 3, 4).bfloat16(), mask=torch.tensor([[True, True, False]]))
    return "torch.bfloat16", str((out[0] if isinstance(out, tuple) else out).dtype)


@finding(
    "linear-attention-transformer",
    "second call",
    "linear_attn: the key that is hidden, before and after",
    "masked_fill_ on its arguments; no thread found. Inside its own layer nobody else reads them",
)
def _() -> tuple[Any, Any]:
    module = import_module("linear_attention_transformer.linear_attention_transformer")
    q, k, v = (draw(1, 1, 3, 2, seed=seed) for seed in range(3))
    before = rounded(k[0, 0, 2])
    module.linear_attn(q, k, v, torch.tensor([[True, True, False]]))
    return before, rounded(k[0, 0, 2])


@finding(
    "linear-attention-transformer",
    "precision",
    "causal_linear_attn with keys of 100: the last row",
    "keys pass through an exponential as they come, float32 ends at e^88; no thread found",
)
def _() -> tuple[Any, Any]:
    module = import_module("linear_attention_transformer.linear_attention_transformer")
    q, k, v = (draw(1, 1, 3, 2, seed=seed) for seed in range(3))
    k = torch.full_like(k, 100.0)
    want = module.causal_linear_attn(q.double(), k.double(), v.double(), bucket_size=1)
    return rounded(want[0, 0, 2]), rounded(module.causal_linear_attn(q, k, v, bucket_size=1)[0, 0, 2])


@finding(
    "performer-pytorch",
    "leak",
    "SelfAttention, all tokens alike: a row with and without six hidden tokens",
    "the mask reaches values, not keys, so hidden keys keep their share of the sum; near it: "
    "lucidrains/performer-pytorch issue 89. The same was mended in fla-org/flash-linear-attention by pull "
    "request 1266",
)
def _() -> tuple[Any, Any]:
    module = import_module("performer_pytorch")
    layer = seeded(lambda: module.SelfAttention(4, heads=1, dim_head=4, nb_features=16, attn_out_bias=False))
    x = draw(1, 1, 4).expand(-1, 8, -1)
    mask = torch.arange(8)[None] < 2
    return rounded(layer(x[:, :2])[0, 0]), rounded(layer(x, mask=mask)[0, 0])


@finding(
    "performer-pytorch",
    "leak",
    "FastAttention, causal: how far the first row moves with the last key",
    "all keys share one largest number, and a constant is added: 10^-4 against exponentials; no thread found",
)
def _() -> tuple[Any, Any]:
    module = import_module("performer_pytorch")
    layer = seeded(lambda: module.FastAttention(4, 16, causal=True))
    q, k, v = (draw(1, 1, 3, 4, seed=seed) for seed in range(3))
    other = k.clone()
    other[..., 2, :] *= 3
    return 0.0, rounded((layer(q, other, v) - layer(q, k, v))[0, 0, 0].abs().max())


@finding(
    "nystrom-attention",
    "batch",
    "NystromAttention: the first text alone and beside a louder one, the largest difference",
    "its pseudo-inverse starts from the largest sums of the whole batch, and stops after six steps; no "
    "thread found",
)
def _() -> tuple[Any, Any]:
    module = import_module("nystrom_attention")
    layer = seeded(lambda: module.NystromAttention(4, heads=1, dim_head=4, num_landmarks=4, residual=False))
    x = torch.cat((draw(1, 8, 4), 10 * draw(1, 8, 4, seed=2)))
    return 0.0, rounded((layer(x)[0] - layer(x[:1])[0]).abs().max())


@finding(
    "reformer-pytorch",
    "second call",
    "LSHSelfAttention in eval mode: one row, twice",
    "meant: each call hashes anew; the outputs are draws",
)
def _() -> tuple[Any, Any]:
    module = import_module("reformer_pytorch")
    layer = seeded(lambda: module.LSHSelfAttention(4, heads=1, bucket_size=2, n_hashes=1, dim_head=4))
    x = draw(1, 16, 4)
    torch.manual_seed(1)
    return rounded(layer(x)[0, 0]), rounded(layer(x)[0, 0])


@finding(
    "local-attention",
    "empty row",
    "LocalAttention: a row that may see nothing, and how it moves with what is hidden",
    "the lowest number for what is hidden: such a row is a mean of padding",
)
def _() -> tuple[Any, Any]:
    module = import_module("local_attention")
    layer = module.LocalAttention(4, causal=True, exact_windowsize=True, use_rotary_pos_emb=False)
    q, k, v = (draw(1, 4, 2, seed=seed) for seed in range(3))
    mask = torch.zeros(1, 4, dtype=torch.bool)
    before = layer(q, k, v, mask=mask)[0, 0]
    return 0.0, rounded((layer(q, k, v + 1, mask=mask)[0, 0] - before).abs().max())


@finding(
    "memory-efficient-attention-pytorch",
    "empty row",
    "Attention: a text of padding alone, and how it moves",
    "the lowest number for what is hidden: such a row is a mean of padding",
)
def _() -> tuple[Any, Any]:
    module = import_module("memory_efficient_attention_pytorch")
    layer = seeded(lambda: module.Attention(dim=4, heads=1, dim_head=4))
    x, mask = draw(1, 3, 4), torch.zeros(1, 3, dtype=torch.bool)
    other = x.clone()
    other[:, 2] += 1
    return 0.0, rounded((layer(other, mask=mask) - layer(x, mask=mask))[0, 0].abs().max())


@finding(
    "d2l",
    "empty row",
    "masked_softmax with no valid key: the weights",
    "known: d2l-ai/d2l-en pull request 2423, closed",
)
def _() -> tuple[Any, Any]:
    from battery import textbook

    return "zeros, or finite and of nothing", rounded(
        textbook().masked_softmax(draw(1, 2, 3), torch.tensor([0]))[0, 0]
    )


@finding(
    "performer-pytorch",
    "gradient",
    "FastAttention: how the sum of the outputs grows along the keys, by finite differences and by autograd",
    "the largest number that is taken off is detached, and a constant stands beside it; no thread found",
)
def _() -> tuple[Any, Any]:
    module = import_module("performer_pytorch")
    layer = seeded(lambda: module.FastAttention(4, 16)).double()
    q, k, v = (draw(1, 1, 3, 4, seed=seed).double() for seed in range(3))
    ends = [layer(q, k + step * k, v).sum() for step in (1e-6, -1e-6)]
    k.requires_grad_()
    (slope,) = torch.autograd.grad(layer(q, k, v).sum(), k)
    return rounded((ends[0] - ends[1]) / 2e-6), rounded((slope * k).sum())


@finding(
    "performer-pytorch",
    "weights",
    "FastAttention, causal, all values 1: the first row",
    "a constant is added to the sum of the weights; no thread found",
)
def _() -> tuple[Any, Any]:
    module = import_module("performer_pytorch")
    layer = seeded(lambda: module.FastAttention(4, 16, causal=True)).double()
    q, k = (draw(1, 1, 3, 4, seed=seed).double() for seed in range(2))
    return 1.0, float(f"{layer(q, k, torch.ones_like(k))[0, 0, 0, 0].item():.4g}")


@finding(
    "performer-pytorch",
    "pieces",
    "FastAttention, causal: how far the first row of one token is from that of three",
    "as above: all keys share one largest number",
)
def _() -> tuple[Any, Any]:
    module = import_module("performer_pytorch")
    layer = seeded(lambda: module.FastAttention(4, 16, causal=True))
    q, k, v = (draw(1, 1, 3, 4, seed=seed) for seed in range(3))
    k[..., 2, :] *= 3
    one = layer(*(x[..., :1, :] for x in (q, k, v)))
    return 0.0, rounded((one[..., 0, :] - layer(q, k, v)[..., 0, :]).abs().max())


@finding(
    "performer-pytorch",
    "precision",
    "FastAttention in float16, keys of 200: the first row",
    "not finite; no thread found. facebookresearch/xformers pull request 98 computes such features in single "
    "precision, for their range",
)
def _() -> tuple[Any, Any]:
    module = import_module("performer_pytorch")
    layer = seeded(lambda: module.FastAttention(4, 16)).half()
    q, v = (draw(1, 1, 2, 4, seed=seed).half() for seed in (0, 2))
    k = torch.full_like(q, 200.0)
    got = layer(q, k, v)[0, 0, 0]
    want = layer.double()(q.double(), k.double(), v.double())[0, 0, 0]
    return rounded(want), [str(one) for one in got.tolist()]


@finding(
    "nystrom-attention",
    "leak",
    "NystromAttention: how far a text of 4 is from the same with 4 hidden tokens behind",
    "meant: its landmarks are means of as many segments, which are longer in a longer text",
)
def _() -> tuple[Any, Any]:
    module = import_module("nystrom_attention")
    layer = seeded(lambda: module.NystromAttention(4, heads=1, dim_head=4, num_landmarks=4, residual=False))
    x, mask = draw(1, 8, 4), torch.arange(8)[None] < 4
    return 0.0, rounded((layer(x, mask=mask)[:, :4] - layer(x[:, :4])).abs().max())


@finding(
    "reformer-pytorch",
    "leak",
    "LSHSelfAttention: how far other rows move with a hidden token, under the same hashes",
    "meant: hidden tokens are sorted into blocks with the others, and who shares a block changes",
)
def _() -> tuple[Any, Any]:
    module = import_module("reformer_pytorch")
    layer = seeded(lambda: module.LSHSelfAttention(4, heads=1, bucket_size=2, n_hashes=1, dim_head=4))
    x, mask, outs = draw(1, 16, 4), torch.arange(16)[None] < 15, []
    for times in (1.0, -3.0):
        other = x.clone()
        other[:, 15] *= times
        torch.manual_seed(1)
        outs.append(layer(other, input_mask=mask)[:, :15])
    return 0.0, rounded((outs[0] - outs[1]).abs().max())


def main() -> None:
    """Show each finding, and store the numbers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="another file, for a trial")
    out = parser.parse_args().out
    results.begin(out)
    rows = []
    for package, property_, says, remark, show in FOUND:
        want, got = show()
        number = torch.__version__.partition("+")[0] if package == "torch" else version(package)
        rows.append(
            {
                "package": package,
                "version": number,
                "property": property_,
                "compared": says,
                "should be": want,
                "is": got,
                "remark": remark,
            }
        )
        print(f"{package} {number}: {says}\n  should be {want}\n  is        {got}\n  ({remark})")
    packages = sorted({row["package"] for row in rows} - {"torch"})
    command = "python benchmarks/battery_by_hand.py"
    results.store("battery-by-hand", {"findings": rows}, command=command, packages=packages, path=out)


if __name__ == "__main__":
    main()

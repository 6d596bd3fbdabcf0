"""Ten properties asked of public implementations of attention, and of broken ones: what holds, what does not.

    python -m pip install --no-deps --target .cache/peers -r benchmarks/requirements.txt
    PYTHONPATH=.cache/peers python benchmarks/battery.py [--only WORD] [--out FILE]

Each implementation is called as its documentation says. What it does not promise is not asked: an
approximation has no softmax of q·k. What was found is shown again by hand, with other numbers and without the
battery, by benchmarks/battery_by_hand.py; those of torch by tests/unit/test_battery.py.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook import battery, results
from attnbook.properties import PROPERTIES, Findings
from attnlab import masks

WIDTH, HEADS, D_HEAD = 16, 4, 4


@dataclass(frozen=True)
class Peer:
    """A public implementation: where it is from, how it is made and called, and what the battery is told."""

    name: str
    package: str
    make: Callable[[], Any]
    call: Callable[..., Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)


PEERS: list[Peer] = []


def peer(name: str, package: str, call: Callable[..., Any] | None = None, **options: Any) -> Callable:
    """Note how an implementation is made; what makes it may import."""

    def note(make: Callable[[], Any]) -> Callable[[], Any]:
        PEERS.append(Peer(name, package, make, call, options))
        return make

    return note


# --- torch -------------------------------------------------------------------------------------------------

peer(
    "scaled_dot_product_attention",
    "torch",
    lambda f, q, k, v, mask: f(q, k, v, attn_mask=mask),
    polarity="keep",
)(lambda: F.scaled_dot_product_attention)
peer("scaled_dot_product_attention, is_causal", "torch", lambda f, q, k, v: f(q, k, v, is_causal=True),
     sees="past")(lambda: F.scaled_dot_product_attention)  # fmt: skip


def _torchs() -> nn.Module:
    return nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)


peer(
    "nn.MultiheadAttention",
    "torch",
    lambda m, q, k, v, mask: m(q, k, v, attn_mask=mask, need_weights=False)[0],
)(_torchs)
peer(
    "nn.MultiheadAttention, need_weights",
    "torch",
    lambda m, q, k, v, mask: m(q, k, v, attn_mask=mask)[0],
)(_torchs)
peer(
    "nn.MultiheadAttention, key_padding_mask",
    "torch",
    lambda m, q, k, v, key_mask: m(q, k, v, key_padding_mask=key_mask)[0],
)(_torchs)


def _encoder_layer() -> nn.Module:
    return nn.TransformerEncoderLayer(WIDTH, HEADS, 32, dropout=0.0, batch_first=True)


peer(
    "nn.TransformerEncoderLayer",
    "torch",
    lambda m, x, mask: m(x, src_mask=mask),
    not_meant=("definition",),
)(_encoder_layer)
peer(
    "nn.TransformerEncoder, src_key_padding_mask",
    "torch",
    lambda m, x, key_mask: m(x, src_key_padding_mask=key_mask),
    not_meant=("definition",),
)(lambda: nn.TransformerEncoder(_encoder_layer(), 1))


# --- transformers ------------------------------------------------------------------------------------------


def _published(family: str, name: str) -> type:
    return getattr(import_module(f"transformers.models.{family}.modeling_{family}"), name)


def _config(name: str, kernel: str = "eager", **settings: Any) -> Any:
    config = getattr(import_module("transformers"), name)(**settings)
    config._attn_implementation = kernel
    return config


def _added(mask: Tensor | None, x: Tensor) -> Tensor | None:
    """The library's own mask: the lowest number is added where nothing may be seen, (batch, 1, n, n)."""
    if mask is None:  # without a mask a layer of a decoder hides the future, with one it does as it is told
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)
    mask = mask if mask.dim() == 4 else mask[None, None]
    return torch.where(mask, 0.0, torch.finfo(x.dtype).min).to(x.dtype).expand(x.shape[0], -1, -1, -1)


def _turned(x: Tensor, d: int = D_HEAD) -> tuple[Tensor, Tensor]:
    turn = torch.arange(x.shape[1])[:, None] * 10_000.0 ** (-torch.arange(0, d, 2) / d)
    turn = torch.cat((turn, turn), -1)[None].to(x.dtype)
    return turn.cos(), turn.sin()


LLAMA = {"hidden_size": WIDTH, "num_attention_heads": HEADS, "num_key_value_heads": 2, "head_dim": D_HEAD}


def _with_turns(layer: nn.Module, x: Tensor, mask: Tensor | None) -> Any:
    return layer(x, position_embeddings=_turned(x), attention_mask=_added(mask, x))


for _kernel in ("eager", "sdpa"):
    for _family, _name, _settings in (
        ("llama", "Llama", {}),
        ("qwen3", "Qwen3", {}),
        ("gemma2", "Gemma2", {"query_pre_attn_scalar": 4, "layer_types": ["full_attention"] * 2}),
    ):
        if (_family, _kernel) == ("gemma2", "sdpa"):
            continue
        peer(
            f"{_name}Attention, {_kernel}",
            "transformers",
            _with_turns,
            positions=True,
            polarity="keep",
        )(
            lambda family=_family, name=_name, kernel=_kernel, settings=_settings: _published(
                family, f"{name}Attention"
            )(_config(f"{name}Config", kernel, num_hidden_layers=2, **LLAMA, **settings), 0)
        )


@peer("BertSelfAttention, eager", "transformers", lambda m, x, mask: m(x, attention_mask=_added(mask, x)),
      d_model=WIDTH)  # fmt: skip
def _() -> nn.Module:
    return _published("bert", "BertSelfAttention")(
        _config("BertConfig", hidden_size=WIDTH, num_attention_heads=HEADS, attention_probs_dropout_prob=0.0)
    )


@peer("GPT2Attention, eager", "transformers", lambda m, x, mask: m(x, attention_mask=_added(mask, x)),
      d_model=WIDTH)  # fmt: skip
def _() -> nn.Module:
    return _published("gpt2", "GPT2Attention")(
        _config("GPT2Config", n_embd=WIDTH, n_head=HEADS, attn_pdrop=0.0, resid_pdrop=0.0), layer_idx=0
    )


@peer("T5Attention", "transformers", lambda m, x, mask: m(x, mask=_added(mask, x)), d_model=WIDTH,
      not_meant=("definition",))  # fmt: skip
def _() -> nn.Module:
    config = _config("T5Config", d_model=WIDTH, num_heads=HEADS, d_kv=D_HEAD, dropout_rate=0.0)
    return _published("t5", "T5Attention")(config, has_relative_attention_bias=False, layer_idx=0)


# --- teaching and libraries --------------------------------------------------------------------------------


class _Anything(types.ModuleType):
    """Stands in for a package that is imported beside attention, which has no use for it."""

    __path__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {}) if name[0].isupper() else _Anything(f"{self.__name__}.{name}")

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self


class _StandIns:
    """Finds stand-ins for the packages named."""

    def __init__(self, *packages: str) -> None:
        self.packages = packages

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *_: Any) -> None:
        sys.meta_path.remove(self)
        for name in [name for name, one in sys.modules.items() if isinstance(one, _Anything)]:
            del sys.modules[name]

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        known = name.partition(".")[0] in self.packages
        return import_module("importlib.machinery").ModuleSpec(name, self) if known else None

    def create_module(self, spec: Any) -> Any:
        return _Anything(spec.name)

    def exec_module(self, module: Any) -> None:
        pass


def textbook() -> types.ModuleType:
    """Import the code of Dive into Deep Learning, without what it needs for pictures and tables."""
    with _StandIns("torchvision", "pandas", "scipy", "matplotlib_inline", "gym", "requests"):
        return import_module("d2l.torch")


@peer("d2l: MultiHeadAttention", "d2l", lambda m, x, key_mask: m(
    x, x, x, None if key_mask is None else key_mask.sum(-1)), d_model=WIDTH, polarity="keep")  # fmt: skip
def _() -> nn.Module:
    layer = textbook().MultiHeadAttention(WIDTH, HEADS, 0.0)
    layer(*[torch.zeros(1, 2, WIDTH)] * 3, None)
    return layer


@peer("labml-nn: MultiHeadAttention", "labml-nn", lambda m, q, k, v, mask: m(
    query=q.transpose(0, 1), key=k.transpose(0, 1), value=v.transpose(0, 1),
    mask=None if mask is None else mask[:, :, None]).transpose(0, 1), d_model=WIDTH)  # fmt: skip
def _() -> nn.Module:
    return import_module("labml_nn.transformers.mha").MultiHeadAttention(HEADS, WIDTH, 0.0)


@peer("x-transformers: Attention", "x-transformers", lambda m, x, mask: m(x, attn_mask=mask), d_model=WIDTH)
def _() -> nn.Module:
    return import_module("x_transformers.x_transformers").Attention(dim=WIDTH, heads=HEADS, dim_head=D_HEAD)


@peer("x-transformers: Attention, flash, mask", "x-transformers", lambda m, x, key_mask: m(x, mask=key_mask),
      d_model=WIDTH)  # fmt: skip
def _() -> nn.Module:
    attention = import_module("x_transformers.x_transformers").Attention
    return attention(dim=WIDTH, heads=HEADS, dim_head=D_HEAD, flash=True)


@peer("timm: Attention", "timm", lambda m, x, mask: m(x, attn_mask=mask), d_model=WIDTH)
def _() -> nn.Module:
    # The package imports torchvision beside its layers: they are taken without it.
    spec = import_module("importlib.util").find_spec("timm")
    sys.modules["timm"] = import_module("importlib.util").module_from_spec(spec)
    with _StandIns("torchvision"):
        return import_module("timm.layers.attention").Attention(WIDTH, HEADS)


@peer("diffusers: Attention", "diffusers", lambda m, x, mask: m(
    x, attention_mask=None if mask is None else torch.where(mask, 0.0, -torch.inf).to(x)[None].expand(
        len(x), -1, -1)), d_model=WIDTH)  # fmt: skip
def _() -> nn.Module:
    return import_module("diffusers.models.attention_processor").Attention(
        WIDTH, heads=HEADS, dim_head=D_HEAD
    )


@peer("esm: MultiheadAttention", "fair-esm", lambda m, q, k, v, mask: m(
    *(x.transpose(0, 1) for x in (q, k, v)), attn_mask=mask)[0].transpose(0, 1), d_model=WIDTH)  # fmt: skip
def _() -> nn.Module:
    return import_module("esm.multihead_attention").MultiheadAttention(WIDTH, HEADS)


# --- below n² ----------------------------------------------------------------------------------------------


@peer("local-attention: LocalAttention", "local-attention", lambda m, q, k, v, key_mask: m(
    q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), mask=key_mask).view(q.shape), unit=4,
    sees=lambda n: masks.window(n, 4, 0), positions=True)  # fmt: skip
def _() -> nn.Module:
    return import_module("local_attention").LocalAttention(
        4, causal=True, exact_windowsize=True, use_rotary_pos_emb=False
    )


@peer("memory-efficient-attention-pytorch: Attention", "memory-efficient-attention-pytorch",
      lambda m, x, key_mask: m(x, mask=key_mask), d_model=WIDTH)  # fmt: skip
def _() -> nn.Module:
    return import_module("memory_efficient_attention_pytorch").Attention(
        dim=WIDTH, heads=HEADS, dim_head=D_HEAD, memory_efficient=True, q_bucket_size=2, k_bucket_size=2
    )


@peer("linear-attention-transformer: linear_attn", "linear-attention-transformer",
      lambda f, q, k, v, key_mask: f(q, k, v, kv_mask=key_mask),
      not_meant=("definition", "weights"))  # fmt: skip
def _() -> Callable:
    return import_module("linear_attention_transformer.linear_attention_transformer").linear_attn


@peer("linear-attention-transformer: causal_linear_attn", "linear-attention-transformer",
      lambda f, q, k, v, key_mask: f(q, k, v, kv_mask=key_mask, bucket_size=1), sees="past",
      not_meant=("definition",))  # fmt: skip
def _() -> Callable:
    return import_module("linear_attention_transformer.linear_attention_transformer").causal_linear_attn


@peer("performer-pytorch: FastAttention", "performer-pytorch", lambda m, q, k, v: m(q, k, v),
      not_meant=("definition",))  # fmt: skip
def _() -> nn.Module:
    return import_module("performer_pytorch").FastAttention(D_HEAD, 32)


@peer("performer-pytorch: FastAttention, causal", "performer-pytorch", lambda m, q, k, v: m(q, k, v),
      not_meant=("definition",), sees="past")  # fmt: skip
def _() -> nn.Module:
    return import_module("performer_pytorch").FastAttention(D_HEAD, 32, causal=True)


@peer("performer-pytorch: SelfAttention", "performer-pytorch", lambda m, x, key_mask: m(x, mask=key_mask),
      d_model=WIDTH, not_meant=("definition",))  # fmt: skip
def _() -> nn.Module:
    return import_module("performer_pytorch").SelfAttention(
        WIDTH, heads=HEADS, dim_head=D_HEAD, nb_features=32
    )


@peer("nystrom-attention: NystromAttention", "nystrom-attention", lambda m, x, key_mask: m(x, mask=key_mask),
      d_model=WIDTH, not_meant=("definition", "order"), positions=True, unit=4)  # fmt: skip
def _() -> nn.Module:
    # Lengths are multiples of the landmarks: else it pads in front, and the padding is seen.
    return import_module("nystrom_attention").NystromAttention(
        WIDTH, heads=HEADS, dim_head=D_HEAD, num_landmarks=4, residual=False
    )


@peer("reformer-pytorch: LSHSelfAttention", "reformer-pytorch",
      lambda m, x, key_mask: m(x, input_mask=key_mask), d_model=WIDTH, unit=4, positions=True,
      not_meant=("definition", "order", "precision"))  # fmt: skip
def _() -> nn.Module:
    # It draws hashes in the dtype of its input, so two precisions can't be compared.
    return import_module("reformer_pytorch").LSHSelfAttention(
        WIDTH, heads=HEADS, bucket_size=2, n_hashes=4, dim_head=D_HEAD
    )


@peer("flash-linear-attention: naive_chunk_linear_attn", "fla-core", lambda f, q, k, v: f(
    *(x.transpose(1, 2) for x in (q.tanh() + 1.1, k.tanh() + 1.1, v)), normalize=True).transpose(1, 2),
    unit=64, sees="past", not_meant=("definition",))  # fmt: skip
def _() -> Callable:
    spec = import_module("importlib.util").find_spec("fla")
    path = Path(next(iter(spec.submodule_search_locations))) / "ops/linear_attn/naive.py"
    spec = import_module("importlib.util").spec_from_file_location("fla_naive", path)
    module = import_module("importlib.util").module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.naive_chunk_linear_attn


def ask(one: Peer) -> Findings:
    """Make an implementation with seeded weights and ask it all."""
    torch.manual_seed(0)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return battery(one.make(), one.call, name=one.name, **one.options)


def main() -> None:
    """Ask all of them, and store what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--out", type=Path, help="another file, for a trial")
    chosen = parser.parse_args()
    results.begin(chosen.out)
    torch.set_num_threads(1)
    found, missing = {}, []
    for one in PEERS:
        if chosen.only not in one.name and chosen.only != one.package:
            continue
        try:
            findings = ask(one)
        except (ImportError, FileNotFoundError) as error:
            missing.append(f"{one.name}: {error}")
            print(f"left out: {missing[-1]}")
            continue
        print(findings, end="\n\n", flush=True)
        found[one.name] = {
            "package": one.package,
            "version": torch.__version__.partition("+")[0]
            if one.package == "torch"
            else version(one.package),
            "notes": list(findings.notes),
            "found": {row.name: [row.verdict, row.text] for row in findings},
        }
    packages = sorted({one["package"] for one in found.values()} - {"torch"})
    results.store(
        "battery",
        {"properties": PROPERTIES, "implementations": found, "left out": missing},
        command="python benchmarks/battery.py",
        packages=packages,
        path=chosen.out,
    )


if __name__ == "__main__":
    main()

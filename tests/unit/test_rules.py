"""Rules that every public form of attention keeps, whatever it computes and however fast.

`FORMS` is the table of all forms, each as a function of queries, keys and values (batch, heads, n, d). A new
form adds its line there, and every rule below is asked of it.
"""

import copy
import functools
import pickle
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from attnlab import (
    KVCache,
    MultiHeadAttention,
    SelfAttention,
    attention,
    grouped_attention,
    linear,
    masks,
    selection,
    sparse,
)
from attnlab.arguments import row_of_keys
from attnlab.latent import LatentAttention
from attnlab.patterns import GlobalTokens, Strided, Window

HEADS, D = 2, 8


@dataclass(frozen=True)
class Form:
    """A form of attention as a function of q, k and v, (batch, heads, n, d) each.

    run: the function.
    hides: how keys are hidden: by a "mask" (n_q, n_k), by a "key_mask" (batch, n_k); None if they are not.
    crosses: whether there may be another number of queries than of keys.
    trains: whether gradients pass.
    any_heads: whether the number of heads is the caller's; a layer's is fixed.
    """

    run: Callable
    hides: str | None = None
    crosses: bool = False
    trains: bool = True
    any_heads: bool = True

    def __call__(self, *qkv, **options):
        return self.run(*qkv, **options)


@functools.cache
def layer(kind, dtype):
    torch.manual_seed(0)
    width = HEADS * D
    makers = {
        "SelfAttention": lambda: SelfAttention(width, D),
        "MultiHeadAttention": lambda: MultiHeadAttention(width, HEADS),
        "rotary": lambda: MultiHeadAttention(width, HEADS, rotary=True),
        "shared": lambda: MultiHeadAttention(width, HEADS, n_kv_heads=1),
        "tamed": lambda: MultiHeadAttention(
            width, HEADS, n_kv_heads=1, qk_norm=True, sinks=True, gate="elementwise", rotary=True
        ),
        "differential": lambda: MultiHeadAttention(width, HEADS, differential=0.5, gate="headwise"),
        "latent": lambda: LatentAttention(width, HEADS, d_latent=12, d_head=6, d_rotary=4, d_v=7),
        "selected": lambda: selection.SelectedAttention(
            MultiHeadAttention(width, HEADS, rotary=True), selection.Indexer(width, 6, width=8)
        ),
        # A norm of next to nothing, as is read of small weights, makes any rounding large.
        "GatedDeltaNet": lambda: linear.GatedDeltaNet(width, HEADS, eps=0.01),
        "nn.MultiheadAttention": lambda: nn.MultiheadAttention(width, HEADS, batch_first=True),
    }
    return makers[kind]().to(dtype).requires_grad_(False)


def of_tokens(kind, **fixed):
    """Run a layer on the queries of all heads side by side, as tokens."""

    def run(q, k, v, **options):
        x = q.transpose(1, 2).flatten(-2)
        return layer(kind, q.dtype)(x, **fixed, **options)

    return run


def torchs_layer(q, k, v):
    x = q.transpose(1, 2).flatten(-2)
    return layer("nn.MultiheadAttention", q.dtype)(x, x, x, need_weights=False)[0]


def decoded(kind):
    """Decode with a cache: half of the tokens at once, then one by one."""

    def run(q, k, v):
        x, heads = q.transpose(1, 2).flatten(-2), layer(kind, q.dtype)
        with torch.no_grad():
            cache, half = heads.new_cache(len(x), max(x.shape[1], 1)), x.shape[1] // 2
            parts = [x[:, :half], *x[:, half:].split(1, 1)] if x.shape[1] else [x]
            return torch.cat(
                [heads(part, cache=cache) for part in parts if part.shape[1] or len(parts) == 1], 1
            )

    return run


@functools.cache
def positive_features(dtype):
    return linear.PositiveFeatures.draw(D, 32, generator=torch.Generator().manual_seed(0))


@functools.cache
def fourier_features(dtype):
    return linear.FourierFeatures.draw(D, 64, generator=torch.Generator().manual_seed(0))


def linear_form(features=None, gated=False, **options):
    def run(q, k, v, **hidden):
        chosen = {} if features is None else {"features": features(q.dtype)}
        if gated:
            chosen["gate"] = (k[..., :1] + 2).sigmoid()
        return linear.linear_attention(q, k, v, **chosen, **options, **hidden)

    return run


def fading(x):
    return -0.02 * x[..., :1].sigmoid()


def rate(x):
    return x[..., :1].sigmoid()


def parts(state):
    """Return the tensors of a state, which is one or several."""
    return [state] if isinstance(state, torch.Tensor) else list(state)


def stepped(step, *extras, **options):
    """Run a step over the tokens one by one."""

    def run(q, k, v):
        state, outs = None, []
        extra = [make(k) for make in extras]
        k = F.normalize(k, dim=-1) if rate in extras else k
        for t in range(q.shape[-2]):
            out, state = step(*(x[..., t, :] for x in (q, k, v, *extra)), state, **options)
            assert {x.dtype for x in parts(state)} <= {torch.float32, torch.float64}, (
                "a state in half precision"
            )
            outs.append(out)
        return torch.stack(outs, -2) if outs else v * 1

    return run


def chosen(q, k, v, key_mask=None):
    """Let the first numbers of all heads, if there are any, choose six keys."""
    mask = None if key_mask is None else row_of_keys(key_mask, q.shape[:1], k.shape[-2])
    scores = selection.index_scores(q[..., :4], k[..., :4].sum(-3))
    return selection.selected_attention(q, k, v, selection.top_keys(scores, 6, mask=mask))


def branched(q, k, v):
    gates = q[..., :3].sigmoid()
    return selection.branched_attention(q, k, v, gates, block_size=4, top=2, window=3)


PATTERN = (Window(5, 2) | GlobalTokens([0])) & (Strided(3) | Window(0, 4))
SINK = torch.tensor(0.7)
MIX = torch.ones(3, 1000).tril_(300).div_(20)
FORMS = {
    "attention": Form(attention, "mask", crosses=True),
    "attention, causal": Form(functools.partial(attention, is_causal=True), "mask"),
    "attention, weights": Form(
        lambda *a, **o: attention(*a, need_weights=True, **o)[0], "mask", crosses=True
    ),
    "attention, score_mod": Form(
        functools.partial(attention, score_mod=lambda score, *_: 3 * (score / 3).tanh()), "mask", crosses=True
    ),
    "attention, sinks": Form(
        lambda q, k, v, **o: attention(q, k, v, sinks=SINK.to(q.dtype), **o), "mask", crosses=True
    ),
    "attention, sinks, causal": Form(
        lambda q, k, v, **o: attention(q, k, v, sinks=SINK, is_causal=True, **o), "mask"
    ),
    "grouped_attention": Form(
        lambda q, k, v, **o: grouped_attention(q, k[:, :1], v[:, :1], **o),
        "mask",
        crosses=True,
        any_heads=False,
    ),
    "SelfAttention": Form(of_tokens("SelfAttention"), "mask", any_heads=False),
    "MultiHeadAttention": Form(of_tokens("MultiHeadAttention"), "mask", any_heads=False),
    "MultiHeadAttention, rotary": Form(of_tokens("rotary"), "mask", any_heads=False),
    "MultiHeadAttention, shared": Form(of_tokens("shared"), "mask", any_heads=False),
    "MultiHeadAttention, tamed": Form(of_tokens("tamed"), "mask", any_heads=False),
    "MultiHeadAttention, tamed, cache": Form(decoded("tamed"), trains=False, any_heads=False),
    "MultiHeadAttention, differential": Form(of_tokens("differential"), "mask", any_heads=False),
    "LatentAttention, plain": Form(of_tokens("latent", form="plain"), "mask", any_heads=False),
    "LatentAttention, absorbed": Form(of_tokens("latent", form="absorbed"), "mask", any_heads=False),
    "LatentAttention, cache": Form(decoded("latent"), trains=False, any_heads=False),
    "MultiHeadAttention, cache": Form(decoded("rotary"), trains=False, any_heads=False),
    "sparse.attend": Form(lambda *a, **o: sparse.attend(*a, PATTERN, **o), "key_mask"),
    "sparse.window": Form(lambda *a, **o: sparse.window(*a, 5, 2, **o), "key_mask"),
    "sparse.strided": Form(lambda *a, **o: sparse.strided(*a, 4, **o), "key_mask"),
    "sparse.fixed": Form(lambda *a, **o: sparse.fixed(*a, 4, 1, **o), "key_mask"),
    "sparse.big_bird": Form(
        lambda *a, **o: sparse.big_bird(*a, 2, global_tokens=[0], n_random=1, block_size=4, **o), "key_mask"
    ),
    "sparse.lsh": Form(lambda q, k, v, **o: sparse.lsh(q, v, block_size=4, **o), "key_mask"),
    "sparse.tiled": Form(lambda *a, **o: sparse.tiled(*a, block_size=8, is_causal=True, **o), "key_mask"),
    "selected_attention": Form(chosen, "key_mask", crosses=True),
    "branched_attention": Form(branched),
    "SelectedAttention": Form(of_tokens("selected"), "key_mask", any_heads=False),
    "SelectedAttention, cache": Form(decoded("selected"), trains=False, any_heads=False),
    "linear, elu": Form(linear_form(), "key_mask", crosses=True),
    "linear, elu, causal": Form(linear_form(is_causal=True, block_size=8), "key_mask"),
    "linear, elu, recurrent": Form(linear_form(is_causal=True, form="recurrent"), "key_mask"),
    "linear, elu, parallel": Form(linear_form(is_causal=True, form="parallel"), "key_mask"),
    "linear, FAVOR+": Form(linear_form(positive_features), "key_mask", crosses=True),
    "linear, FAVOR+, causal": Form(linear_form(positive_features, is_causal=True, block_size=8), "key_mask"),
    "linear, gate": Form(linear_form(fourier_features, gated=True, is_causal=True, block_size=8), "key_mask"),
    "gated_linear_attention": Form(
        lambda q, k, v, **o: linear.gated_linear_attention(q, k, v, fading(k), block_size=8, **o), "key_mask"
    ),
    "delta_rule": Form(
        lambda q, k, v, **o: linear.delta_rule(q, F.normalize(k, dim=-1), v, rate(k), block_size=8, **o),
        "key_mask",
    ),
    "delta_rule, gated": Form(
        lambda q, k, v, **o: linear.delta_rule(
            q, F.normalize(k, dim=-1), v, rate(k), log_decay=fading(k)[..., :1], block_size=8, **o
        ),
        "key_mask",
    ),
    "delta_rule, gated by row": Form(
        lambda q, k, v, **o: linear.delta_rule(
            q, F.normalize(k, dim=-1), v, 2 * rate(k), log_decay=-0.02 * k.sigmoid(), block_size=8, **o
        ),
        "key_mask",
    ),
    "GatedDeltaNet": Form(of_tokens("GatedDeltaNet"), "key_mask", any_heads=False),
    "linformer_attention": Form(
        lambda q, k, v, **o: linear.linformer_attention(q, k, v, MIX.to(q.dtype), **o),
        "key_mask",
        crosses=True,
    ),
    "linear_step": Form(stepped(linear.linear_step)),
    "gated_step": Form(stepped(linear.gated_step, fading)),
    "delta_step": Form(stepped(linear.delta_step, rate)),
}
TRAIN = [name for name, form in FORMS.items() if form.trains]
every = pytest.mark.parametrize("name", FORMS)
every_trained = pytest.mark.parametrize("name", TRAIN)


def is_layer(name):
    """Say whether a form reads tokens, which ask, offer and pass on at once, instead of q, k and v."""
    return "Attention" in name or name == "GatedDeltaNet"


def draw(n=24, *, batch=2, heads=HEADS, n_k=None, seed=0, dtype=torch.float32):
    g = torch.Generator().manual_seed(seed)
    shapes = [
        (batch, heads, length, D) for length in (n, n if n_k is None else n_k, n if n_k is None else n_k)
    ]
    return [torch.randn(shape, generator=g).to(dtype) for shape in shapes]


def results(form, qkv, autocast=False):
    """Return the output and the gradients of q, k and v, for one and the same gradient of the output."""
    leaves = [x.detach().requires_grad_() for x in qkv]
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        out = form(*leaves)
    # Outside, as torch asks for it: the backward pass takes the precisions that the forward pass chose.
    g = torch.randn(out.shape, generator=torch.Generator().manual_seed(9)).to(out.dtype)
    return [out.detach(), *torch.autograd.grad(out, leaves, g, allow_unused=True, materialize_grads=True)]


def far(got, want):
    """Return how far results lie from what they should be, as the largest share of each."""
    shares = [
        (a.double() - b.double()).norm() / b.double().norm()
        for a, b in zip(got, want, strict=True)
        if b.any()
    ]
    return max(share.item() for share in shares)


# --- running sums ------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_running_sums_do_not_stop_growing_in_half_precision(name, dtype):
    # A sum kept in bf16 is stuck at 256 ones. Nothing but the rounding of inputs and outputs may show.
    n = 600
    q, k, v = (torch.full((1, HEADS, n, D), 0.5, dtype=dtype) for _ in range(3))
    v[..., :300, :], v[..., 300:, :] = 1, 0
    if is_layer(name):
        q = torch.where(torch.arange(n)[:, None] < 300, q, -q)
    with torch.no_grad():
        got, want = FORMS[name](q, k, v), FORMS[name](q.double(), k.double(), v.double())
    assert got.dtype == dtype
    assert (got.double() - want).abs().max() <= 4 * torch.finfo(dtype).eps * want.abs().max()


# --- autocast ----------------------------------------------------------------------------------------------


@functools.cache
def costs_torch(kind, dtype):
    """How far autocast takes torch's own attention from the exact results, for the inputs of the tests."""
    form = F.scaled_dot_product_attention if kind == "attention" else torchs_layer
    qkv = draw(dtype=dtype)
    exact = results(form, [x.double() for x in qkv])
    if kind == "layer":
        qkv = [x.float() for x in qkv]  # a layer's weights stay in single precision
    return far(results(form, qkv, autocast=True), exact)


@every_trained
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_costs_no_more_than_it_costs_torchs_own_attention(name, dtype):
    form, qkv = FORMS[name], draw(dtype=dtype)
    exact = results(form, [x.double() for x in qkv])
    if is_layer(name):
        qkv = [x.float() for x in qkv]
    without = far(results(form, qkv), exact)
    allowed = costs_torch("layer" if is_layer(name) else "attention", dtype)
    assert far(results(form, qkv, autocast=True), exact) <= 2 * max(allowed, without)


# --- empty dimensions --------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("empty", ["batch", "heads", "n", "n_q", "n_k"])
def test_any_dimension_may_be_empty(name, empty):
    form = FORMS[name]
    if (empty in ("n_q", "n_k") and not form.crosses) or (empty == "heads" and not form.any_heads):
        return
    sizes = {"batch": {"batch": 0}, "heads": {"heads": 0}, "n": {"n": 0}, "n_q": {"n": 0, "n_k": 5},
             "n_k": {"n": 5, "n_k": 0}}[empty]  # fmt: skip
    qkv = draw(**({"n": 9} | sizes))
    if not form.trains:
        assert 0 in form(*qkv).shape
        return
    out, *grads = results(form, qkv)
    assert out.shape[:1] == qkv[0].shape[:1]
    assert is_layer(name) or out.shape == qkv[0].shape
    assert [g.shape for g in grads] == [x.shape for x in qkv]
    assert all(not g.isnan().any() for g in grads)
    if empty == "n_k":
        assert not out.any()


# --- hidden keys -------------------------------------------------------------------------------------------


MASKED = [name for name, form in FORMS.items() if form.hides == "mask" and name != "SelfAttention"]
BY_KEY = [name for name, form in FORMS.items() if form.hides == "key_mask" or (is_layer(name) and form.hides)]


@pytest.mark.parametrize("name", MASKED)
@pytest.mark.parametrize("lead", [2, 1])
def test_a_mask_of_three_dimensions_beside_four_is_refused_with_what_to_write(name, lead):
    # It could mean the batch or the heads.
    mask = masks.window(24, 3).expand(lead, 24, 24)
    with pytest.raises(ValueError, match=r"mask.*mask\[:, None\]"):
        FORMS[name](*draw(), mask=mask)


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_is_for_all_or_has_every_dimension(name):
    form, qkv, mask = FORMS[name], draw(), masks.window(24, 3)
    want = form(*qkv, mask=mask)
    for same in (mask[None, None], mask.expand(2, 1, 24, 24), mask.expand(1, HEADS, 24, 24)):
        torch.testing.assert_close(form(*qkv, mask=same), want)


@pytest.mark.parametrize("name", BY_KEY)
def test_a_key_mask_is_the_batchs_or_is_refused_by_name(name):
    form, qkv, there = FORMS[name], draw(), torch.arange(24) < torch.tensor([[24], [17]])
    torch.testing.assert_close(form(*qkv, key_mask=there[:, None]), form(*qkv, key_mask=there))
    for wrong in (there[0], there[:1], there[:, :-1], there.mT, masks.causal(24), there[:, None, None]):
        with pytest.raises(ValueError, match=r"key_mask must have shape .* = \(2, 24\), got \("):
            form(*qkv, key_mask=wrong)
    with pytest.raises(TypeError, match=r"key_mask must be a boolean tensor .* got dtype torch\.float32"):
        form(*qkv, key_mask=there.float())


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form.hides])
def test_a_hidden_key_changes_nothing(name):
    form, (q, k, v) = FORMS[name], draw()
    there = torch.arange(24) < torch.tensor([[24], [17]])
    by_key = form.hides == "key_mask" or is_layer(name)
    hide = {"key_mask": there} if by_key else {"mask": there[:, None, None]}
    want = results(lambda *a: form(*a, **hide), (q, k, v))
    hidden = ~there[:, None, :, None]
    other = [torch.where(hidden, q - 1, q), torch.where(hidden, k + 1, k), torch.where(hidden, 5.0, v)]
    got = results(lambda *a: form(*a, **hide), other)
    seen = there[:, None, :, None]
    shown = there[..., None] if is_layer(name) else seen  # in the shape of the output
    torch.testing.assert_close(got[0].where(shown, 0), want[0].where(shown, 0), rtol=1e-4, atol=1e-5)
    assert not got[2].masked_fill(seen, 0).any()
    assert not got[3].masked_fill(seen, 0).any()


# --- two roads ---------------------------------------------------------------------------------------------


def with_nan_in_a_hidden_key(dtype):
    q, k, v = draw(6, dtype=dtype)
    k[..., 5, :] = torch.nan
    return q, k, v, {"mask": torch.arange(6).expand(6, 6) < 5}


def with_nan_in_a_hidden_value(dtype):
    q, k, v = draw(6, dtype=dtype)
    v[..., 5, :] = torch.nan
    return q, k, v, {"mask": torch.arange(6).expand(6, 6) < 5}


def with_nan_in_a_value_and_an_empty_row(dtype):
    q, k, v = draw(6, dtype=dtype)
    v[..., 2, :] = torch.nan
    mask = torch.ones(6, 6, dtype=torch.bool)
    mask[1] = False
    return q, k, v, {"mask": mask}


def with_scores_beyond_half_precision(dtype):
    q, k, v = draw(6, dtype=dtype)
    return q * 200, k * 200, v, {"scale": 1.0}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "made",
    [
        with_nan_in_a_hidden_key,
        with_nan_in_a_hidden_value,
        with_nan_in_a_value_and_an_empty_row,
        with_scores_beyond_half_precision,
    ],
)
def test_nan_and_overflow_are_answered_alike_with_weights_and_without(made, dtype):
    *qkv, options = made(dtype)
    fused = attention(*qkv, **options)
    weighted = attention(*qkv, need_weights=True, **options)[0]
    assert torch.equal(fused.isnan(), weighted.isnan())
    tolerance = 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(fused, weighted, equal_nan=True, rtol=tolerance, atol=tolerance)


# --- what was refused changes nothing ----------------------------------------------------------------------


REFUSED = {
    "a mask that does not fit": {"mask": torch.ones(3, 4, dtype=torch.bool)},
    "a mask that is not boolean": {"mask": torch.ones(3, 5)},
    "a bias that does not fit": {"bias": torch.zeros(3, 4)},
    "a factor for too few heads": {"head_weights": torch.ones(HEADS + 1)},
    "a context beside a cache": {"context": torch.zeros(2, 3, HEADS * D)},
    "tokens of another batch": {"x": torch.zeros(3, 3, HEADS * D)},
    "tokens of another width": {"x": torch.zeros(2, 3, HEADS * D + 1)},
    "more tokens than there is room for": {"x": torch.zeros(2, 7, HEADS * D)},
}


@pytest.mark.parametrize("why", REFUSED)
@pytest.mark.parametrize(
    "kind", ["MultiHeadAttention", "rotary", "shared", "tamed", "differential", "latent"]
)
@torch.no_grad()
def test_a_refused_call_leaves_the_cache_as_it_was(why, kind):
    heads, x = layer(kind, torch.float32), torch.randn(2, 5, HEADS * D)
    cache, other = heads.new_cache(2, 8), heads.new_cache(2, 8)
    heads(x[:, :2], cache=cache)
    heads(x[:, :2], cache=other)
    options = {"x": x[:, 2:]} | REFUSED[why]
    with pytest.raises((TypeError, ValueError)):
        heads(options.pop("x"), **options, cache=cache)
    assert cache.length == 2
    assert torch.equal(heads(x[:, 2:], cache=cache), heads(x[:, 2:], cache=other))


@torch.no_grad()
def test_a_cache_that_refuses_keeps_its_numbers():
    cache = KVCache(1, 2, 4, 3)
    first = torch.randn(2, 1, 2, 2, 3)
    keys, values = cache.append(*first)
    for k, v in ((torch.zeros(1, 2, 3, 3),) * 2, (torch.zeros(1, 2, 1, 3), torch.zeros(1, 2, 2, 3))):
        with pytest.raises(ValueError, match=r"cache has room|must have shape"):
            cache.append(k, v)
        assert cache.length == 2
    assert torch.equal(keys, first[0])
    assert torch.equal(values, first[1])


@pytest.mark.parametrize("step", ["linear_step", "gated_step", "delta_step"])
def test_a_step_does_not_write_into_the_state_it_was_given(step):
    function, (q, k, v) = getattr(linear, step), draw(1)
    extra = {"linear_step": [], "gated_step": [fading(k)], "delta_step": [rate(k)]}[step]
    token = [x[..., 0, :] for x in (q, k, v, *extra)]
    _, state = function(*token, None)
    before = [x.clone() for x in parts(state)]
    out, _ = function(*token, state)
    again, _ = function(*token, state)
    assert all(torch.equal(*pair) for pair in zip(parts(state), before, strict=True))
    assert torch.equal(out, again)


# --- torch's modes -----------------------------------------------------------------------------------------


@every
def test_it_computes_the_same_without_gradients(name):
    form, qkv = FORMS[name], draw()
    want = form(*(x.requires_grad_(form.trains) for x in qkv)).detach()
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            torch.testing.assert_close(form(*(x.detach() for x in qkv)), want)


@every
def test_fake_tensors_leave_nothing_behind(name):
    form, qkv = FORMS[name], draw(26)  # a length that no other test asks for
    if not is_layer(name):
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            assert form(*(mode.from_tensor(x) for x in qkv)).shape == qkv[0].shape
    out = form(*qkv)
    assert type(out) is torch.Tensor
    assert out.isfinite().all()


def result_or_plain_refusal(call):
    """Return what the call returns, or None where it says by itself that torch.func is not for it."""
    try:
        return call()
    except (RuntimeError, NotImplementedError) as error:
        # An operator that torch, in its older versions, cannot map, it names itself.
        if "torch.func" not in str(error) and "Batching rule not implemented" not in str(error):
            raise
        return None


@every_trained
@pytest.mark.usefixtures("whatever_a_clamp_passes_back")
def test_torch_func_gives_the_gradient_or_says_plainly_that_it_cannot(name):
    def loss(*qkv):
        return FORMS[name](*qkv).square().sum()

    leaves = [x.requires_grad_() for x in draw()]
    want = torch.autograd.grad(loss(*leaves), leaves, materialize_grads=True, allow_unused=True)
    got = result_or_plain_refusal(lambda: torch.func.grad(loss, argnums=(0, 1, 2))(*draw()))
    for a, b in zip(got or want, want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@every_trained
@pytest.mark.filterwarnings("ignore:There is a performance drop because we have not yet implemented")
def test_vmap_gives_the_outputs_or_says_plainly_that_it_cannot(name):
    form, qkv = FORMS[name], [torch.stack(pair) for pair in zip(draw(), draw(seed=1), strict=True)]
    want = torch.stack([form(*one) for one in zip(*qkv, strict=True)])  # first: it draws the layers' weights
    got = result_or_plain_refusal(lambda: torch.func.vmap(form)(*qkv))
    if got is not None:
        torch.testing.assert_close(got, want)


WHOLE = {
    "attention": attention,
    "attention, weights": FORMS["attention, weights"].run,
    "attention, score_mod": FORMS["attention, score_mod"].run,
    "attention, sinks": FORMS["attention, sinks"].run,
    "grouped_attention": lambda q, k, v: grouped_attention(q, k[:, :1], v[:, :1], is_causal=True),
    "linear, elu, parallel": functools.partial(linear.linear_attention, is_causal=True, form="parallel"),
    "linformer_attention": FORMS["linformer_attention"].run,
}
"""What becomes one graph; the others run compiled too, with breaks at their loops over blocks."""


@pytest.mark.parametrize("name", WHOLE)
def test_it_becomes_one_graph(name):
    qkv = draw()
    compiled = torch.compile(WHOLE[name], fullgraph=True, backend="eager")
    torch.testing.assert_close(results(compiled, qkv), results(WHOLE[name], qkv))


@pytest.mark.parametrize(
    "kind",
    [
        *("SelfAttention", "MultiHeadAttention", "rotary", "shared"),
        *("tamed", "differential", "selected", "latent"),
    ],
)
def test_a_layer_becomes_one_graph(kind):
    x, module = torch.randn(2, 5, HEADS * D), layer(kind, torch.float32)
    compiled = torch.compile(module, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x, is_causal=True), module(x, is_causal=True))


MODULES = {
    "SelfAttention": lambda: SelfAttention(D, D),
    "MultiHeadAttention": lambda: MultiHeadAttention(D, 2, n_kv_heads=1, rotary=True),
    "MultiHeadAttention, tamed": lambda: MultiHeadAttention(
        D, 2, qk_norm=True, sinks=True, gate="headwise", differential=0.3
    ),
    "SelectedAttention": lambda: selection.SelectedAttention(
        MultiHeadAttention(D, 2), selection.Indexer(D, 3, rotary=True)
    ),
    "LatentAttention": lambda: LatentAttention(D, 2, d_latent=5, d_head=4, d_rotary=2, d_query_latent=6),
    "PositiveFeatures": lambda: linear.PositiveFeatures.draw(D, 16),
    "FourierFeatures": lambda: linear.FourierFeatures.draw(D, 16),
}


@pytest.mark.parametrize("kind", MODULES)
def test_a_module_is_saved_copied_and_moved_whole(kind):
    torch.manual_seed(0)
    one, other, x = MODULES[kind](), MODULES[kind](), torch.randn(2, 5, D)
    assert not torch.allclose(one(x), other(x))
    other.load_state_dict(one.state_dict())
    for same in (other, copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert torch.equal(same(x), one(x))
    wide = copy.deepcopy(one).to(torch.float64)
    assert all(tensor.dtype == torch.float64 for tensor in wide.state_dict().values())
    torch.testing.assert_close(wide(x.double()), one(x).double(), rtol=1e-4, atol=1e-5)
    assert all(tensor.device.type == "meta" for tensor in one.to("meta").state_dict().values())

"""Scores and attention against torch's own kernel, plain loops and finite differences."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab import attention, dot_product, masks, scores

HALVES = [torch.float16, torch.bfloat16]
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]  # what kernels do with empty rows differs


def qkv(seed=0, batch=(2, 3), n_q=5, n_k=7, d_k=4, d_v=6, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=g, dtype=torch.float64).to(dtype)  # noqa: E731
    return draw(*batch, n_q, d_k), draw(*batch, n_k, d_k), draw(*batch, n_k, d_v)


def by_loops(q, k, v, mask=None, bias=None, scale=None):
    """Attention for 2-D inputs from the definition, one number at a time, in Python floats."""
    n_q, d_k = q.shape
    scale = 1 / math.sqrt(d_k) if scale is None else scale
    out = torch.zeros(n_q, v.shape[1], dtype=torch.float64)
    for i in range(n_q):
        terms = {}
        for j in range(k.shape[0]):
            if mask is None or mask[i, j]:
                score = scale * sum(float(a) * float(b) for a, b in zip(q[i], k[j], strict=True))
                terms[j] = math.exp(score + (0.0 if bias is None else float(bias[i, j])))
        for j, term in terms.items():
            out[i] += term / sum(terms.values()) * v[j].double()
    return out


def test_dot_and_scaled_dot_entry_by_entry():
    q, k, _ = qkv(batch=())
    want = [[float((q[i] * k[j]).sum()) for j in range(7)] for i in range(5)]
    assert torch.allclose(scores.dot(q, k), torch.tensor(want, dtype=torch.float64))
    assert torch.allclose(scores.scaled_dot(q, k), torch.tensor(want, dtype=torch.float64) / 2)
    assert torch.allclose(scores.scaled_dot(q, k, scale=3.0), torch.tensor(want, dtype=torch.float64) * 3)


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=8), st.floats(-1e3, 1e3))
def test_softmax_sums_to_one_and_ignores_a_shift(row, shift):
    x = torch.tensor(row, dtype=torch.float64)
    p = scores.softmax(x)
    assert torch.isclose(p.sum(), torch.tensor(1.0, dtype=torch.float64))
    assert (p >= 0).all()
    assert torch.allclose(p, scores.softmax(x + shift), atol=1e-9)
    top = max(row)
    want = [math.exp(a - top) for a in row]
    assert torch.allclose(p, torch.tensor([w / sum(want) for w in want], dtype=torch.float64))


def test_softmax_along_another_axis():
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    mask = torch.tensor([[True], [False], [True]]).expand(3, 4)
    p = scores.softmax(x, mask, dim=0)
    assert torch.allclose(p.sum(0), torch.ones(4))
    assert (p[1] == 0).all()


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize(
    "what", ["nothing", "mask", "bias", "both", "scale", "scale and mask", "scale and bias"]
)
def test_equals_the_definition_written_as_loops(what, need_weights):
    q, k, v = qkv(batch=())
    g = torch.Generator().manual_seed(3)
    mask = torch.rand(5, 7, generator=g) < 0.6 if "mask" in what or what == "both" else None
    bias = torch.randn(5, 7, generator=g, dtype=torch.float64) if "bias" in what or what == "both" else None
    scale = 0.3 if "scale" in what else None
    if mask is not None:
        mask[2] = False  # and one row that may look nowhere
    out = attention(q, k, v, mask=mask, bias=bias, scale=scale, need_weights=need_weights)
    out = out[0] if need_weights else out
    assert torch.allclose(out, by_loops(q, k, v, mask, bias, scale), atol=1e-12)


@pytest.mark.parametrize("need_weights", [False, True])
def test_equals_torch_with_batch_heads_and_causal(need_weights):
    q, k, v = qkv(n_q=7)
    out = attention(q, k, v, is_causal=True, need_weights=need_weights)
    out = out[0] if need_weights else out
    assert torch.allclose(out, F.scaled_dot_product_attention(q, k, v, is_causal=True), atol=1e-12)


def test_both_roads_agree_with_everything_on():
    q, k, v = qkv(n_q=7)
    mask = masks.padding([7, 4], 7)[:, None]  # (batch, 1, 1, n)
    bias = torch.randn(1, 3, 7, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    fused = attention(q, k, v, mask=mask, bias=bias, is_causal=True)
    out, weights = attention(q, k, v, mask=mask, bias=bias, is_causal=True, need_weights=True)
    assert torch.allclose(fused, out, atol=1e-12)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 3, 7, dtype=torch.float64))
    assert (weights[1, ..., 4:] == 0).all()
    assert (weights.triu(1) == 0).all()


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 6), st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=40)
def test_every_output_is_a_weighted_mean_of_the_values(seed, n_q, n_k, d_k, d_v):
    q, k, v = qkv(seed, (1,), n_q, n_k, d_k, d_v)
    out, weights = attention(q, k, v, need_weights=True)
    assert torch.allclose(weights.sum(-1), torch.ones(1, n_q, dtype=torch.float64))
    assert (out <= v.amax(-2, keepdim=True) + 1e-9).all()
    assert (out >= v.amin(-2, keepdim=True) - 1e-9).all()


@given(st.integers(0, 10_000), st.permutations(range(6)))
@settings(max_examples=25)
def test_shuffled_tokens_give_the_shuffled_output(seed, order):
    x = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    assert torch.allclose(attention(x, x, x)[order], attention(x[order], x[order], x[order]))


def test_causality_by_gradient():
    q, k, v = (x.requires_grad_() for x in qkv(batch=(), n_q=7))
    for i in range(7):
        for x in torch.autograd.grad(attention(q, k, v, is_causal=True)[i].sum(), (k, v)):
            assert (x[i + 1 :] == 0).all()
            assert (x[: i + 1].abs().sum(-1) > 0).all() or i == 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, *HALVES])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("how", ["mask", "mask and bias", "bias of -inf", "causal and mask"])
@pytest.mark.parametrize("device", DEVICES)
def test_a_row_with_nothing_to_attend_to_gives_zeros_forward_and_backward(device, how, need_weights, dtype):
    q, k, v = (x.to(device).requires_grad_() for x in qkv(n_q=7, dtype=dtype))
    mask = torch.ones(7, 7, dtype=torch.bool, device=device)
    mask[0] = mask[3] = False
    arguments = {
        "mask": {"mask": mask},
        "mask and bias": {"mask": mask, "bias": q.new_zeros(7, 7)},
        "bias of -inf": {"bias": q.new_zeros(7, 7).masked_fill(~mask, -math.inf)},
        "causal and mask": {"mask": mask, "is_causal": True},
    }[how]
    out = attention(q, k, v, **arguments, need_weights=need_weights)
    if need_weights:
        out, weights = out
        assert (weights[..., [0, 3], :] == 0).all()
    assert out.dtype == dtype
    assert (out[..., [0, 3], :] == 0).all()
    assert (out[..., [1, 2, 4], :].abs().sum(-1) > 0).all()
    gradients = torch.autograd.grad(out.float().square().sum(), (q, k, v))
    assert all(torch.isfinite(g).all() for g in gradients)
    assert (gradients[0][..., [0, 3], :] == 0).all()
    assert (gradients[0][..., [1, 2, 4], :].abs().sum() > 0) or how == "causal and mask"


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
def test_large_scores_stay_finite(dtype):
    q = torch.tensor([[200.0], [-200.0]], dtype=dtype)
    k = torch.tensor([[100.0], [-100.0]], dtype=dtype)
    out, weights = attention(q, k, torch.eye(2, dtype=dtype), need_weights=True)
    assert weights.tolist() == out.tolist() == [[1, 0], [0, 1]]


def test_gradients_by_finite_differences():
    q, k, v = (x.requires_grad_() for x in qkv(batch=(1,), n_q=3, n_k=3))
    mask = masks.causal(3) & torch.tensor([True, False, True])[:, None]
    for need_weights in (False, True):
        torch.autograd.gradcheck(
            lambda q, k, v, w=need_weights: attention(q, k, v, mask=mask, need_weights=w), (q, k, v)
        )


def test_a_mask_is_never_changed():
    q, k, v = qkv(n_q=7)
    mask = masks.causal(7)
    mask[0] = False
    before = mask.clone()
    attention(q, k, v, mask=mask)
    attention(q, k, v, mask=mask, need_weights=True)
    assert torch.equal(mask, before)


def test_one_row_of_a_mask_or_bias_serves_all_queries():
    q, k, v = qkv()
    mask, bias = torch.tensor([[1, 1, 0, 1, 0, 1, 1]]).bool(), torch.linspace(-1, 1, 7)[None]
    want = attention(q, k, v, mask=mask.expand(5, 7), bias=bias.expand(5, 7))
    assert torch.allclose(attention(q, k, v, mask=mask, bias=bias), want, atol=1e-6)
    assert torch.allclose(attention(q, k, v, mask=mask, bias=bias, need_weights=True)[0], want, atol=1e-6)


def both_roads(q, k, v, **options):
    """The output with weights and without."""
    return attention(q, k, v, **options, need_weights=True)[0], attention(q, k, v, **options)


def test_a_nan_is_not_hidden():
    q, k, v = qkv(batch=(), n_q=7)
    q[1] = math.nan
    bias = torch.zeros(7, 7, dtype=torch.float64)
    for out in (*both_roads(q, k, v), *both_roads(q, k, v, bias=bias)):
        assert out[1].isnan().all()
        assert out[[0, 2]].isfinite().all()
    q, k, v = qkv(batch=(), n_q=7)
    bias[1] = math.nan
    for out in both_roads(q, k, v, bias=bias):
        assert out[1].isnan().all()
        assert out[[0, 2]].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, *HALVES])
@pytest.mark.parametrize("which", ["k", "v"])
def test_a_hidden_nan_shows_on_both_roads_alike(which, dtype):
    tensors = dict(zip("qkv", qkv(n_q=7, dtype=dtype), strict=True))
    tensors[which][..., 3, :] = math.nan
    mask = torch.ones(7, 7, dtype=torch.bool)
    mask[:, 3] = False  # hidden from all
    mask[5] = False  # and a row that is empty
    for options in ({"mask": mask}, {"bias": torch.zeros(7, 7).masked_fill(~mask, -math.inf)}):
        for out in both_roads(*tensors.values(), **options):
            assert (out[..., 5, :] == 0).all()
            assert out[..., [0, 1, 2, 3, 4, 6], :].isnan().all()


def test_an_empty_row_is_zeros_whatever_the_values_are():
    q, k, v = qkv(batch=(), n_q=7)
    v[3] = math.nan
    mask = torch.ones(7, 7, dtype=torch.bool)
    mask[2] = False
    for options in ({"mask": mask}, {"bias": torch.zeros(7, 7).masked_fill(~mask, -math.inf)}):
        for out in both_roads(q, k, v, **options):
            assert (out[2] == 0).all()
            assert out[[0, 1, 3]].isnan().all()


@pytest.mark.parametrize("dtype", HALVES)
def test_scores_beyond_half_precision_do_no_harm(dtype):
    q, k, v = qkv(batch=(), dtype=dtype)
    q, k = q * 200, k * 200  # scores up to 1e5, and fp16 ends at 65,504
    want = attention(q.double(), k.double(), v.double())
    for out in both_roads(q, k, v):
        assert out.dtype == dtype
        assert (out - want).abs().max() < 0.01


@pytest.mark.parametrize("what", ["nothing", "mask", "bias"])
def test_autocast_costs_the_weights_no_more_than_the_fused_kernel(what):
    # A part that queries and keys share makes scores of about 30; rounded to eight bits, they are off by 0.1.
    q, k, v = qkv(dtype=torch.float32, n_q=7, d_k=64)
    q, k, v = (x.requires_grad_() for x in (q + 2, k + 2, v))
    options = {"nothing": {}, "mask": {"mask": masks.causal(7)}, "bias": {"bias": torch.zeros(7, 7)}}[what]
    exact = attention(q, k, v, **options)
    exact_grads = torch.autograd.grad(exact.square().sum(), (q, k, v))
    errors = []
    for road in (0, 1):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = both_roads(q, k, v, **options)[road]
        grads = torch.autograd.grad(out.float().square().sum(), (q, k, v))
        pairs = zip((out, *grads), (exact, *exact_grads), strict=True)
        errors.append([float((a - b).detach().norm() / b.detach().norm()) for a, b in pairs])
        assert out.dtype == torch.bfloat16
    assert all(ours < 1.5 * theirs for ours, theirs in zip(*errors, strict=True))


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("what", ["nothing", "mask", "bias", "causal"])
@pytest.mark.parametrize(
    "sizes", [{"batch": (0, 3)}, {"batch": (2, 0)}, {"n_q": 0}, {"n_k": 0}, {"n_q": 0, "n_k": 0}]
)
def test_any_empty_dimension_works_forward_and_backward(sizes, what, need_weights):
    if what == "causal":
        sizes = {"n_q": 7} | ({key: 0 for key in sizes} if "batch" not in sizes else sizes)
        sizes |= {"n_k": sizes["n_q"]}
    q, k, v = (x.requires_grad_() for x in qkv(**sizes))
    shape = (q.shape[-2], k.shape[-2])
    options = {
        "nothing": {},
        "mask": {"mask": torch.ones(shape, dtype=torch.bool)},
        "bias": {"bias": torch.zeros(shape)},
        "causal": {"is_causal": True},
    }[what]
    out = attention(q, k, v, **options, need_weights=need_weights)
    if need_weights:
        out, weights = out
        assert weights.shape == (*q.shape[:-1], k.shape[-2])
    assert out.shape == (*q.shape[:-1], v.shape[-1])
    assert k.shape[-2] or (out == 0).all()
    for x, gradient in zip((q, k, v), torch.autograd.grad(out.sum(), (q, k, v)), strict=True):
        assert gradient.shape == x.shape
        assert gradient.isfinite().all()


def test_dropout_is_torchs_on_both_roads():
    q, k, v = qkv(n_q=7, dtype=torch.float32)
    mask = masks.causal(7)
    torch.manual_seed(3)
    want = F.scaled_dot_product_attention(q, k, v, mask, dropout_p=0.4)
    torch.manual_seed(3)
    assert torch.equal(attention(q, k, v, mask=mask, dropout=0.4), want)
    full = attention(q, k, v, mask=mask, need_weights=True)[1]
    torch.manual_seed(3)
    want = F.dropout(full, 0.4)
    torch.manual_seed(3)
    out, weights = attention(q, k, v, mask=mask, dropout=0.4, need_weights=True)
    assert torch.equal(weights, want)
    assert torch.equal(out, weights @ v)
    kept = weights != 0
    assert torch.allclose(weights[kept], full[kept] / 0.6)
    # By moments: over many draws both roads give the mean without dropout, with the same spread.
    q, k, v = (x[:1, :1].expand(4000, 1, 7, -1) for x in (q, k, v))
    outs = [attention(q, k, v, dropout=0.4), attention(q, k, v, dropout=0.4, need_weights=True)[0]]
    for out in outs:
        assert (out.mean(0) - attention(q[0], k[0], v[0])).abs().max() < 0.06
    assert (outs[0].std(0) / outs[1].std(0) - 1).abs().max() < 0.06


def test_the_weights_are_not_made_unless_asked_for(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the slow road was taken")

    monkeypatch.setattr(dot_product, "_scaled_dot", refuse)
    q, k, v = qkv(n_q=7)
    attention(q, k, v, mask=masks.causal(7))
    with pytest.raises(AssertionError, match="slow road"):
        attention(q, k, v, need_weights=True)


@pytest.mark.filterwarnings("ignore:.*performance drop:UserWarning")  # vmap over a fused kernel is a loop
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("what", ["nothing", "mask", "causal"])
def test_functional_transforms_and_compilation(what, need_weights):
    q, k, v = qkv(n_q=7)
    mask = {"mask": masks.window(7, 1), "causal": masks.causal(7)}.get(what)

    def run(q, k, v, mask=mask):
        options = {"is_causal": True} if what == "causal" else {"mask": mask}
        out = attention(q, k, v, **options, need_weights=need_weights)
        return out[0] if need_weights else out

    def loss(q, k, v):
        return run(q, k, v).square().sum()

    leaf = q.clone().requires_grad_()
    (want,) = torch.autograd.grad(loss(leaf, k, v), leaf)
    assert torch.allclose(torch.func.grad(loss)(q, k, v), want)
    assert torch.allclose(torch.func.vmap(torch.func.grad(loss))(q, k, v), want)
    assert torch.allclose(torch.func.vmap(run)(q, k, v), run(q, k, v))
    torch._dynamo.reset()
    compiled = torch.compile(run, fullgraph=True, backend="eager")
    assert torch.allclose(compiled(q, k, v), run(q, k, v))
    if need_weights:
        few = tuple(x[:1, 0, :3].clone().requires_grad_() for x in (q, k, v))
        three = None if mask is None else mask[:3, :3]
        assert torch.autograd.gradgradcheck(lambda *x: run(*x, three), few)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"mask": torch.ones(5, 7)}, TypeError, "mask must be a boolean tensor .*dtype torch.float32"),
        ({"mask": [[True]]}, TypeError, "mask must be a boolean tensor .*got list"),
        ({"mask": torch.ones(7, 5).bool()}, ValueError, r"mask must be .* \(2, 3, 5, 7\); got \(7, 5\)$"),
        ({"mask": torch.ones(9, 2, 3, 5, 7).bool()}, ValueError, r"got \(9, 2, 3, 5, 7\)$"),
        ({"mask": torch.ones(7).bool()}, ValueError, r"got \(7,\); write mask\[None\] for one row"),
        ({"mask": torch.ones(2, 1, 7).bool()}, ValueError, r"write mask\[:, None\] .* batch, mask\[None\]"),
        ({"bias": torch.ones(3, 5, 7)}, ValueError, r"write bias\[:, None\] .* batch, bias\[None\] .* heads"),
        ({"mask": torch.ones(3, 3, 5, 7).bool()}, ValueError, r"mask must .* got \(3, 3, 5, 7\)$"),
        ({"bias": torch.ones(4, 7)}, ValueError, r"bias must be \(n_q, n_k\) or .* got \(4, 7\)$"),
        ({"is_causal": True}, ValueError, "as many queries as keys, got n_q = 5 and n_k = 7"),
        ({"q": torch.ones(5, 3)}, ValueError, r"share their last dimension d_k, got q \(5, 3\)"),
        ({"v": torch.ones(2, 3, 6, 6)}, ValueError, r"same number of tokens n_k, .*v \(2, 3, 6, 6\)"),
        ({"k": torch.ones(4)}, ValueError, r"k must have shape \(..., n, d\), got \(4,\)"),
        ({"q": torch.ones(5, 3, 5, 4)}, ValueError, "leading dimensions of q, k and v must broadcast"),
    ],
)
def test_bad_input_is_named(change, error, message):
    q, k, v = qkv()
    with pytest.raises(error, match=message):
        attention(**({"q": q, "k": k, "v": v} | change))


def test_score_functions_name_the_widths_that_differ():
    with pytest.raises(ValueError, match=r"share their width d_k, got q \(2, 3\) and k \(2, 4\)"):
        scores.dot(torch.ones(2, 3), torch.ones(2, 4))


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_bias_is_not_rounded_to_the_halves_of_the_queries(dtype, need_weights):
    def attend(bias, dtype):
        q, k, v = (torch.zeros(2, 4, dtype=dtype) for _ in range(3))
        v = torch.tensor([[1.0], [3.0]], dtype=dtype)
        out = attention(q, k, v, bias=bias, need_weights=need_weights)
        return (out[0] if need_weights else out).float()

    lowest = torch.finfo(torch.float32).min  # a row of it, as transformers writes a mask, is no empty row
    for bias in (
        torch.tensor([[1e5, 0.0], [0.0, 1e5]]),
        torch.tensor([[lowest, lowest], [0.0, lowest]]),
        torch.tensor([[1000.0, 1000.25], [-math.inf, -math.inf]]),
    ):
        assert torch.allclose(attend(bias, dtype), attend(bias, torch.float32), atol=1e-2)
    assert attend(torch.tensor([[lowest] * 2] * 2), dtype).tolist() == [[2.0], [2.0]]


def test_no_head_by_broadcasting_is_no_head_on_both_roads():
    q, k = torch.ones(1, 3, 4), torch.ones(0, 3, 4)
    for tensors in ((q, k, k), (k, q, k), (k, q, q), (q, q, k)):
        assert attention(*tensors).shape == attention(*tensors, need_weights=True)[0].shape == (0, 3, 4)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("dropout", [-0.5, 1.5, math.nan])
def test_a_dropout_that_is_no_chance_is_refused(dropout, need_weights):
    q, k, v = qkv()
    with pytest.raises(ValueError, match=f"dropout must lie between 0 and 1, got {dropout}"):
        attention(q, k, v, dropout=dropout, need_weights=need_weights)


def by_heads(q, k, v, n, **options):
    """Attend head by head: query head h reads key-value head h // (n / n_kv_heads)."""
    size = n // k.shape[1]
    rows = {name: x for name, x in options.items() if isinstance(x, torch.Tensor)}
    fixed = {name: x for name, x in options.items() if name not in rows}
    return torch.stack(
        [
            attention(
                q[:, h],
                k[:, h // size],
                v[:, h // size],
                **{name: x[:, h] if x.shape[1] > 1 else x[:, 0] for name, x in rows.items()},
                **fixed,
            )
            for h in range(n)
        ],
        1,
    )


@pytest.mark.parametrize("n_q", [1, 3])
@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
def test_neighbouring_query_heads_share_a_key_head(n_kv_heads, n_q):
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 6, n_q, 4), torch.randn(2, n_kv_heads, 5, 4), torch.randn(2, n_kv_heads, 5, 3)
    mask, bias = torch.rand(2, 6, n_q, 5) < 0.7, torch.randn(2, 6, n_q, 5)
    for options in ({}, {"mask": mask, "bias": bias}, {"mask": mask[:1, :1].expand(2, 1, n_q, 5)}):
        want = by_heads(q, k, v, 6, **options)
        assert torch.allclose(dot_product.grouped_attention(q, k, v, **options), want, atol=1e-6)
        got, weights = dot_product.grouped_attention(q, k, v, **options, need_weights=True)
        assert torch.allclose(got, want, atol=1e-6)
        assert weights.shape == (2, 6, n_q, 5)


def test_one_causal_query_of_shared_heads_has_one_key():
    q, k = torch.randn(1, 4, 1, 8), torch.randn(1, 2, 2, 8)
    with pytest.raises(ValueError, match="as many queries as keys, got n_q = 1 and n_k = 2"):
        dot_product.grouped_attention(q, k, k, is_causal=True)  # not a group of two queries for two keys
    assert torch.equal(
        dot_product.grouped_attention(q, k[:, :, :1], k[:, :, :1], is_causal=True)[:, 3], k[:, 1, :1]
    )


@pytest.mark.parametrize("name", ["mask", "bias"])
def test_a_mask_of_a_group_is_no_mask_of_the_scores(name):
    q, k = torch.randn(1, 4, 1, 8), torch.randn(1, 2, 3, 8)
    wrong = torch.ones(2, 3) > 0 if name == "mask" else torch.ones(2, 3)
    with pytest.raises(ValueError, match=rf"{name} must be .* \(1, 4, 1, 3\); got \(2, 3\)"):
        dot_product.grouped_attention(q, k, k, **{name: wrong})

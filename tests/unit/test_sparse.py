"""Each sparse pattern against dense attention under the mask that defines it."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab import attention, masks, sparse


def both(sparse_form, mask, batch=(2, 3), n=None, d=4, d_v=3, key_mask=None, seed=0, dtype=torch.float32):
    """Return outputs and gradients of the sparse form and of dense attention under a mask."""
    torch.manual_seed(seed)
    n = mask.shape[-1] if n is None else n
    leaves = [torch.randn(*batch, n, width, dtype=dtype).requires_grad_() for width in (d, d, d_v)]
    grad = torch.randn(*batch, n, d_v, dtype=dtype)
    seen = mask if key_mask is None else mask & key_mask[:, None, None, :]
    results = []
    for out in (sparse_form(*leaves), attention(*leaves, mask=seen)):
        results.append((out.detach(), *torch.autograd.grad(out, leaves, grad)))
    return results


def agree(sparse_form, mask, tolerance=5e-5, **options):
    for d_v in (3, 4):  # the fused kernel wants values as wide as keys, 4
        ours, dense = both(sparse_form, mask, d_v=d_v, **options)
        for name, a, b in zip(("output", "dq", "dk", "dv"), ours, dense, strict=True):
            assert a.shape == b.shape
            assert (a - b).abs().max() < tolerance, (name, d_v)


lengths = st.integers(1, 150)


@st.composite
def key_masks(draw, batch=2):
    return draw(st.none() | st.lists(st.integers(0, 150), min_size=batch, max_size=batch))


def hide(kept, n):
    return None if kept is None else masks.padding([min(x, n) for x in kept], n)[:, 0]


@given(lengths, st.integers(0, 90), st.integers(0, 90) | st.just(0), key_masks())
@settings(max_examples=40)
def test_window(n, before, after, kept):
    hidden = hide(kept, n)
    agree(lambda q, k, v: sparse.window(q, k, v, before, after, key_mask=hidden),
          masks.window(n, before, after), key_mask=hidden)  # fmt: skip


@given(lengths, st.integers(1, 40), st.booleans(), key_masks())
@settings(max_examples=40)
def test_strided(n, stride, is_causal, kept):
    hidden = hide(kept, n)
    agree(lambda q, k, v: sparse.strided(q, k, v, stride, is_causal=is_causal, key_mask=hidden),
          masks.strided(n, stride, is_causal=is_causal), key_mask=hidden)  # fmt: skip


@given(lengths, st.integers(1, 40), st.booleans(), key_masks(), st.data())
@settings(max_examples=40)
def test_fixed(n, stride, is_causal, kept, data):
    hidden = hide(kept, n)
    summary = data.draw(st.integers(0, stride))
    agree(lambda q, k, v: sparse.fixed(q, k, v, stride, summary, is_causal=is_causal, key_mask=hidden),
          masks.fixed(n, stride, summary, is_causal=is_causal), key_mask=hidden)  # fmt: skip


@given(lengths, st.integers(0, 40), st.integers(0, 40), st.booleans(), key_masks(), st.data())
@settings(max_examples=60)
def test_big_bird(n, before, after, is_causal, kept, data):
    hidden = hide(kept, n)
    tokens = data.draw(st.lists(st.integers(0, n - 1), max_size=4))
    block = data.draw(st.sampled_from([1, 5, 16, 200]))
    count = data.draw(st.integers(0, min(3, -(-n // block))))
    mask = masks.window(n, before, after) | masks.global_tokens(n, tokens)
    mask |= masks.random_keys(n, count, seed=5, block_size=block)
    options = {
        "global_tokens": tokens,
        "n_random": count,
        "seed": 5,
        "block_size": block,
        "is_causal": is_causal,
    }
    agree(lambda q, k, v: sparse.big_bird(q, k, v, before, after, **options, key_mask=hidden),
          mask & masks.causal(n) if is_causal else mask, key_mask=hidden)  # fmt: skip


@given(st.integers(1, 90), st.integers(9, 100), st.booleans(), key_masks())
@settings(max_examples=30)
def test_tiled(n, tile, is_causal, kept):
    hidden = hide(kept, n)
    agree(lambda q, k, v: sparse.tiled(q, k, v, block_size=tile, is_causal=is_causal, key_mask=hidden),
          masks.causal(n) if is_causal else torch.ones(n, n, dtype=torch.bool), key_mask=hidden)  # fmt: skip


def rounds(buckets, kept, chunk):
    """Count for one head in how many rounds token i sees token j, by the definition."""
    n = buckets.shape[-1]
    seen = torch.zeros(n, n)
    for numbers in buckets.tolist():
        order = sorted(range(n), key=lambda at: (not kept[at], kept[at] and numbers[at], at))
        place = {token: at // chunk for at, token in enumerate(order)}
        for i in range(n):
            for j in range(n):
                seen[i, j] += place[i] - place[j] in (0, 1)
    return seen


@given(st.integers(1, 24), st.integers(1, 3), st.integers(1, 12), st.booleans(), key_masks())
@settings(max_examples=30)
def test_lsh(n, n_hashes, chunk, is_causal, kept):
    torch.manual_seed(n)
    hidden = hide(kept, n)
    shown = torch.ones(2, n, dtype=torch.bool) if hidden is None else hidden
    leaves = qk, v = torch.randn(2, 3, n, 4).requires_grad_(), torch.randn(2, 3, n, 5).requires_grad_()
    grad = torch.randn(2, 3, n, 5)
    buckets = sparse.lsh_buckets(qk, n_hashes, -(-n // chunk), seed=0)
    counts = torch.stack([
        torch.stack([rounds(buckets[b, h], shown[b].tolist(), chunk) for h in range(3)]) for b in range(2)
    ])  # fmt: skip
    counts = counts.masked_fill(torch.eye(n, dtype=torch.bool), 0.0)
    counts = counts.tril() if is_causal else counts
    counts = counts.masked_fill(~shown[:, None, None], 0.0)
    alone = (counts.sum(-1) == 0) & shown[:, None]
    counts = counts + torch.diag_embed(alone.float())
    dense = attention(qk, qk / qk.norm(dim=-1, keepdim=True), v, bias=counts.log())
    ours = sparse.lsh(qk, v, n_hashes=n_hashes, block_size=chunk, is_causal=is_causal, key_mask=hidden)
    assert (ours - dense).abs().max() < 1e-5
    got, want = (torch.autograd.grad(out, leaves, grad) for out in (ours, dense))
    for a, b in zip(got, want, strict=True):
        assert (a - b).abs().max() < 1e-5


FORMS = {
    "window": (lambda q, k, v: sparse.window(q, k, v, 40, 7), lambda n: masks.window(n, 40, 7)),
    "strided": (lambda q, k, v: sparse.strided(q, k, v, 11), lambda n: masks.strided(n, 11)),
    "fixed": (lambda q, k, v: sparse.fixed(q, k, v, 13, 2), lambda n: masks.fixed(n, 13, 2)),
    "big_bird": (
        lambda q, k, v: sparse.big_bird(q, k, v, 20, global_tokens=[3, 50], n_random=2, block_size=16),
        lambda n: (
            masks.window(n, 20)
            | masks.global_tokens(n, [3, 50])
            | masks.random_keys(n, 2, seed=0, block_size=16)
        ),
    ),
    "tiled": (
        lambda q, k, v: sparse.tiled(q, k, v, is_causal=True, block_size=200),
        lambda n: masks.causal(n),
    ),
}
every_form = pytest.mark.parametrize("name", FORMS)


@every_form
def test_a_length_of_many_steps(name):
    form, mask = FORMS[name]
    agree(form, mask(2321), batch=(1, 1), tolerance=1e-4)


@every_form
def test_double_precision_against_finite_differences(name):
    form, mask = FORMS[name]
    torch.manual_seed(0)
    leaves = [torch.randn(1, 1, 67, 2, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    assert torch.autograd.gradcheck(form, leaves, fast_mode=True)
    agree(form, mask(67), tolerance=1e-13, dtype=torch.float64)


@every_form
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_the_rounded_single_precision(name, dtype):
    form, _ = FORMS[name]
    torch.manual_seed(0)
    half = [torch.randn(1, 2, 150, 8).to(dtype).requires_grad_() for _ in range(3)]
    full = [x.detach().float().requires_grad_() for x in half]
    grad = torch.randn(1, 2, 150, 8).to(dtype)
    out = form(*half)
    assert out.dtype == dtype
    results = (out, *torch.autograd.grad(out, half, grad))
    wanted = form(*full)
    wanted = (wanted, *torch.autograd.grad(wanted, full, grad.float()))
    one = torch.finfo(dtype).eps
    for got, want in zip(results, wanted, strict=True):
        assert got.dtype == dtype
        assert torch.allclose(got.float(), want, rtol=2 * one, atol=2 * one)


@pytest.mark.parametrize("d_v", [1, 3])  # with 1 the fused kernel would fit
@every_form
def test_scores_of_ten_thousand_are_exact(name, d_v):
    # Whole numbers near 1e4 and -1e4, exact in single precision, a few apart: weights that are not one-hot.
    form, mask = FORMS[name]
    torch.manual_seed(0)
    n = 150
    size = 1e4 - torch.randint(0, 4, (1, 1, n, 1))
    k = torch.where(torch.arange(n)[:, None] % 7 == 0, -size, size).requires_grad_()
    q, v = torch.ones(1, 1, n, 1).requires_grad_(), torch.randn(1, 1, n, d_v).requires_grad_()
    grad = torch.randn(1, 1, n, d_v)
    ours, dense = form(q, k, v), attention(q.double(), k.double(), v.double(), mask=mask(n))
    assert (ours - dense).abs().max() < 1e-5
    got, want = (torch.autograd.grad(out, (q, k, v), grad.to(out.dtype)) for out in (ours, dense))
    # The gradient of q is a sum of keys near 1e4 that cancel: 1e4 times the rounding of single precision.
    for a, b, tolerance in zip(got, want, (1e-1, 1e-4, 1e-4), strict=True):
        assert (a - b).abs().max() < tolerance


@every_form
def test_any_layout_in_memory_and_no_leading_dimension(name):
    form, mask = FORMS[name]
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 90, 3, 4).transpose(1, 2) for _ in range(3))  # heads in the middle
    assert not q.is_contiguous()
    assert (form(q, k, v) - attention(q, k, v, mask=mask(90))).abs().max() < 1e-5
    columns = (q[0, 0].T.contiguous().T for q in (q, k, v))  # tokens as columns
    assert (form(*columns) - form(q[0, 0], k[0, 0], v[0, 0])).abs().max() < 1e-6


def test_a_query_whose_keys_are_all_hidden_gets_zeros_and_gives_none():
    leaves = [torch.randn(2, 1, 40, 4).requires_grad_() for _ in range(3)]
    shown = masks.padding([0, 40], 40)
    for form in (
        lambda q, k, v: sparse.window(q, k, v, 3, key_mask=shown),
        lambda q, k, v: sparse.strided(q, k, v, 5, key_mask=shown),
        lambda q, k, v: sparse.fixed(q, k, v, 5, key_mask=shown),
        lambda q, k, v: sparse.big_bird(
            q, k, v, 3, global_tokens=[7], n_random=1, block_size=8, key_mask=shown
        ),
        lambda q, k, v: sparse.lsh(q, v, block_size=8, key_mask=shown),
        lambda q, k, v: sparse.tiled(q, k, v, key_mask=shown),
    ):
        out = form(*leaves)
        assert (out[0] == 0).all()
        assert (out[1] != 0).any()
        for grad in torch.autograd.grad(out, leaves, torch.ones_like(out), allow_unused=True):
            assert grad is None or (grad[0] == 0).all()


def test_what_hidden_tokens_hold_changes_nothing():
    torch.manual_seed(0)
    qk, v = torch.randn(1, 2, 100, 8), torch.randn(1, 2, 100, 8)
    shown = masks.padding([60], 100)
    other = qk.clone()
    other[..., 60:, :] = torch.randn(40, 8)
    for a, b in zip(
        sparse.lsh(qk, v, key_mask=shown)[0], sparse.lsh(other, v, key_mask=shown)[0], strict=True
    ):
        assert torch.equal(a[:60], b[:60])


def test_buckets_tell_directions_apart():
    torch.manual_seed(0)
    x = torch.randn(400, 16)
    buckets = sparse.lsh_buckets(x, 8, 64, seed=0)
    assert buckets.shape == (8, 400)
    assert set(buckets.unique().tolist()) <= set(range(64))
    assert torch.equal(buckets, sparse.lsh_buckets(3 * x, 8, 64, seed=0))
    near = sparse.lsh_buckets(x + 0.1 * torch.randn(400, 16), 8, 64, seed=0)
    far = sparse.lsh_buckets(torch.randn(400, 16), 8, 64, seed=0)
    opposite = sparse.lsh_buckets(-x, 8, 64, seed=0)
    assert (near == buckets).float().mean() > 0.6
    assert (far == buckets).float().mean() < 0.05
    assert not (opposite == buckets).any()


def test_buckets_are_the_largest_products():
    torch.manual_seed(0)
    x = torch.randn(300, 8, dtype=torch.float64)
    directions = torch.randn(2, 3 * 4, 8, generator=torch.Generator().manual_seed(9)).double()
    want = 0
    for side in directions:
        product = x @ side.view(3, 4, 8).mT  # (hashes, n, directions)
        both = torch.stack((product, -product), -1).flatten(-2)  # r, -r side by side
        want = want * 8 + both.argmax(-1)
    assert (sparse.lsh_buckets(x, 3, 64, seed=9) == want).float().mean() > 0.999


x = torch.zeros(2, 3, 8, 4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sparse.window(x, x[..., :2], x, 1), ValueError, r"q and k must have the same shape"),
        (lambda: sparse.window(x, x, x[:, :, :5], 1), ValueError, r"v must have shape \(..., n, d_v\)"),
        (lambda: sparse.window(x, x, x, -1), ValueError, "before must be at least 0, got -1"),
        (lambda: sparse.window(x, x, x, 1, key_mask=torch.ones(2, 8)), TypeError, "got dtype torch.float32"),
        (
            lambda: sparse.window(x, x, x, 1, key_mask=torch.ones(8, dtype=torch.bool)),
            ValueError,
            r"key_mask must have shape \(..., n_k\) = \(2, 8\), got \(8,\)",
        ),
        (lambda: sparse.attend(x, x, x, masks.causal(8)), TypeError, "pattern must be a Pattern.*got Tensor"),
        (lambda: sparse.lsh(x, x, engine="flex"), ValueError, "engine must be auto, tiles; got 'flex'"),
        (lambda: sparse.strided(x, x, x, 0), ValueError, "stride must be at least 1, got 0"),
        (lambda: sparse.fixed(x, x, x, 3, 4), ValueError, "summary must lie between 0 and stride = 3, got 4"),
        (
            lambda: sparse.big_bird(x, x, x, 1, global_tokens=[8]),
            ValueError,
            r"between 0 and n - 1 = 7, got \[8\]",
        ),
        (lambda: sparse.big_bird(x, x, x, 1, n_random=2), ValueError, "n_random must be at most 1"),
        (lambda: sparse.lsh(x, x, block_size=0), ValueError, "block_size must be at least 1, got 0"),
        (lambda: sparse.lsh(x, x, buckets=torch.zeros(2, 8)), ValueError, r"buckets must have shape"),
        (
            lambda: sparse.lsh(x, x, buckets=torch.zeros(2, 3, 1, 8)),
            TypeError,
            "buckets must be whole numbers, got dtype torch.float32",
        ),
        (lambda: sparse.tiled(x, x, x, block_size=0), ValueError, "block_size must be at least 1, got 0"),
    ],
)
def test_errors_name_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()


@every_form
def test_a_second_derivative_is_refused_and_says_so(name):
    form, _ = FORMS[name]
    x = [torch.randn(1, 1, 150, 4).requires_grad_() for _ in range(3)]
    (slope,) = torch.autograd.grad(form(*x).square().sum(), x[0], create_graph=True)
    with pytest.raises(RuntimeError, match="sparse attention has no second derivative"):
        torch.autograd.grad(slope.sum(), x[0])

"""What changes scores before the softmax, against FlexAttention and against the formulas of its sources."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attnlab import MultiHeadAttention, attention, grouped_attention, masks, positions

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")

N = 6


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def qkv(n_q=N, n_k=N, heads=3):
    return draw(2, heads, n_q, 4), draw(2, heads, n_k, 4, seed=1), draw(2, heads, n_k, 5, seed=2)


SLOPES = torch.tensor(positions.alibi_slopes(4), dtype=torch.float64)
TABLE = draw(4, 2 * N + 3, seed=3)
SHARPNESS = torch.tensor([0.5, 3.0], dtype=torch.float64)
DOCUMENTS = torch.tensor([[0, 0, 1, 1, 1, 2], [0, 1, 1, 1, 1, 1]])


def soft_cap(score, b, h, q_idx, kv_idx):
    return 2 * torch.tanh(score / 2)


def alibi(score, b, h, q_idx, kv_idx):
    return score - SLOPES[h] * (q_idx - kv_idx).abs()


def looked_up(score, b, h, q_idx, kv_idx):
    return score + TABLE[h, kv_idx - q_idx + N]


def sliding(score, b, h, q_idx, kv_idx):
    return torch.where((q_idx - kv_idx).abs() <= 2, score, score - 0.7 * (q_idx - kv_idx).abs())


def by_sequence(score, b, h, q_idx, kv_idx):
    return score * SHARPNESS[b]


def within_documents(score, b, h, q_idx, kv_idx):
    return torch.where(DOCUMENTS[b, q_idx] == DOCUMENTS[b, kv_idx], score, -float("inf"))


def all_hidden_from_two(score, b, h, q_idx, kv_idx):
    return torch.where(q_idx == 2, -float("inf"), score)


def places_alone(score, b, h, q_idx, kv_idx):
    return (q_idx - 2 * kv_idx).double()


def log_of_the_distance(score, b, h, q_idx, kv_idx):
    return score - torch.log1p((q_idx - kv_idx).double())  # -inf and NaN for later keys


FUNCTIONS = [
    soft_cap,
    alibi,
    looked_up,
    sliding,
    by_sequence,
    within_documents,
    all_hidden_from_two,
    places_alone,
]


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("score_mod", FUNCTIONS)
def test_a_function_written_for_flex_attention_means_the_same_here(score_mod, need_weights):
    q, k, v = qkv()
    for scale in (None, 1.5):
        got = attention(q, k, v, score_mod=score_mod, scale=scale, need_weights=need_weights)
        want = flex_attention(q, k, v, score_mod=score_mod, scale=scale)
        torch.testing.assert_close(got[0] if need_weights else got, want)


@pytest.mark.parametrize("score_mod", [*FUNCTIONS, log_of_the_distance])
def test_a_mask_comes_after_it_as_there(score_mod):
    q, k, v = qkv()

    def seen(b, h, q_idx, kv_idx):  # one query of the second text sees nothing
        return (q_idx >= kv_idx) & ((b == 0) | (q_idx != 3))

    allowed = masks.causal(N).repeat(2, 1, 1, 1)
    allowed[1, :, 3] = False
    blocks = create_block_mask(seen, 2, None, N, N, device="cpu")
    want = flex_attention(q, k, v, score_mod=score_mod, block_mask=blocks)
    got, weights = attention(q, k, v, score_mod=score_mod, mask=allowed, need_weights=True)
    torch.testing.assert_close(got, want)
    assert not got[1, :, 3].any()
    assert not weights[1, :, 3].any()
    assert not weights.triu(1).any()
    both = attention(q, k, v, score_mod=score_mod, mask=allowed.tril() | ~masks.causal(N), is_causal=True)
    torch.testing.assert_close(both, got)
    at_first = flex_attention(
        q,
        k,
        v,
        score_mod=score_mod,
        block_mask=create_block_mask(lambda b, h, i, j: i >= j, None, None, N, N, device="cpu"),
    )
    torch.testing.assert_close(attention(q, k, v, score_mod=score_mod, is_causal=True), at_first)


def test_a_bias_comes_after_it():
    q, k, v = qkv(5, 7)
    bias = draw(5, 7, seed=4)
    bias[1] = -math.inf
    want = (2 * torch.tanh(q @ k.mT / 2 / 2) + bias).softmax(-1).nan_to_num(0.0)
    out, weights = attention(q, k, v, score_mod=soft_cap, bias=bias, need_weights=True)
    torch.testing.assert_close(weights, want)
    torch.testing.assert_close(out, want @ v)


@pytest.mark.parametrize(
    ("lead", "b_shape", "h_shape"),
    [
        ((), (), ()),
        ((2,), (2, 1, 1), ()),
        ((2, 3), (2, 1, 1, 1), (1, 3, 1, 1)),
        ((2, 5, 3), (2, 1, 1, 1, 1), (1, 1, 3, 1, 1)),
    ],
)
def test_it_is_called_once_with_all_scores_and_what_counts_them(lead, b_shape, h_shape):
    q, k, v = draw(*lead, 4, 2), draw(*lead, 7, 2, seed=1), draw(*lead, 7, 3, seed=2)
    calls = []

    def note(*arguments):
        calls.append(arguments)
        return arguments[0]

    torch.testing.assert_close(attention(q.half(), k.half(), v.half(), score_mod=note, scale=0.5).double(),
                               attention(q, k, v, scale=0.5), atol=0.01, rtol=0.01)  # fmt: skip
    ((score, b, h, q_idx, kv_idx),) = calls
    assert score.dtype == torch.float32
    torch.testing.assert_close(score.double(), q @ k.mT / 2, atol=0.01, rtol=0.01)
    assert (b.shape, h.shape, q_idx.shape, kv_idx.shape) == (b_shape, h_shape, (4, 1), (7,))
    for index, n in ((b, lead[0] if lead else 1), (h, lead[-1] if lead[1:] else 1), (q_idx, 4), (kv_idx, 7)):
        assert index.dtype == torch.int64
        assert index.flatten().tolist() == list(range(n))


def test_values_alone_may_have_the_batch():
    q, k, v = draw(N, 4), draw(N, 4, seed=1), draw(2, N, 5, seed=2)
    got, weights = attention(q, k, v, score_mod=by_sequence, need_weights=True)
    torch.testing.assert_close(weights, (q @ k.mT / 2 * SHARPNESS[:, None, None]).softmax(-1))
    torch.testing.assert_close(got, weights @ v)


def test_gradients_pass_through_it_and_none_from_an_empty_row():
    q, k, v = (x[:1, :1, :3].requires_grad_() for x in qkv())
    cap = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    mask = masks.causal(3) & torch.tensor([True, False, True])[:, None]

    def attend(q, k, v, cap, **options):
        return attention(q, k, v, score_mod=lambda score, *_: cap * torch.tanh(score / cap), **options)

    for options in ({}, {"mask": mask}, {"is_causal": True}):
        assert torch.autograd.gradcheck(lambda *x, o=options: attend(*x, **o), (q, k, v, cap))
        assert torch.autograd.gradgradcheck(lambda *x, o=options: attend(*x, **o), (q, k, v, cap))
    slopes = torch.autograd.grad(attend(q, k, v, cap, mask=mask).square().sum(), (q, k, v))
    assert not slopes[0][..., 1, :].any()
    below = torch.zeros(3, 1, dtype=torch.float64)
    below[1] = -math.inf
    for x in torch.autograd.grad(attention(q, k, v, score_mod=lambda s, *_: s + below).sum(), (q, k, v)):
        assert x.isfinite().all()


@pytest.mark.parametrize("n_q", [1, N])
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_shared_heads_count_the_heads_of_the_queries(n_kv_heads, n_q):
    q, (_, k, v) = draw(2, 4, n_q, 4), qkv(heads=n_kv_heads)
    whole = (x.repeat_interleave(4 // n_kv_heads, 1) for x in (k, v))
    want = attention(q, *whole, score_mod=alibi)
    torch.testing.assert_close(grouped_attention(q, k, v, score_mod=alibi), want)
    got, weights = grouped_attention(q, k, v, score_mod=alibi, need_weights=True)
    torch.testing.assert_close(got, want)
    assert weights.shape == (2, 4, n_q, N)


def test_dropout_and_compilation_and_vmap_know_it():
    q, k, v = qkv()
    torch.manual_seed(0)
    out, weights = attention(q, k, v, score_mod=soft_cap, dropout=0.5, need_weights=True)
    kept = weights != 0
    full = attention(q, k, v, score_mod=soft_cap, need_weights=True)[1]
    assert 0.3 < kept.double().mean() < 0.7
    torch.testing.assert_close(weights[kept], 2 * full[kept])
    torch.testing.assert_close(out, weights @ v)

    def run(q, k, v):
        return attention(q, k, v, score_mod=alibi, is_causal=True)

    want = run(q, k, v)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(run, fullgraph=True, backend="eager")(q, k, v), want)
    stacked = [torch.stack((x, 2 * x)) for x in (q, k, v)]
    torch.testing.assert_close(torch.func.vmap(run)(*stacked), torch.stack((want, run(2 * q, 2 * k, 2 * v))))


# --- what are lines, not options ---------------------------------------------------------------------------


def test_alibi_is_the_bias_that_positions_make():
    q, k, v = qkv(heads=4)
    bias = positions.alibi(4, N)[None]
    for options in ({}, {"is_causal": True}):
        want = attention(q, k, v, bias=bias, **options)
        torch.testing.assert_close(attention(q, k, v, score_mod=alibi, **options), want)


def test_a_learned_sink_is_an_added_key_whose_score_is_set():
    """A key of zeros with a value of zeros takes weight exp(sink) and gives nothing (gpt-oss, one a head)."""
    q, k, v = qkv()
    sink = draw(3, seed=5).requires_grad_()
    zeros = torch.zeros(2, 3, 1, 4, dtype=torch.float64)

    def with_sink(score, b, h, q_idx, kv_idx):
        return torch.where(kv_idx == N, sink[h], score)

    got = attention(q, torch.cat((k, zeros), -2), F.pad(v, (0, 0, 0, 1)), score_mod=with_sink)
    above = (q @ k.mT / 2).exp()
    want = above / (above.sum(-1, keepdim=True) + sink.exp()[:, None, None]) @ v
    torch.testing.assert_close(got, want)
    one, other = (torch.autograd.grad(out.square().sum(), sink)[0] for out in (got, want))
    torch.testing.assert_close(one, other)


def test_norms_of_queries_and_keys_are_a_function_given_as_rotary():
    """Each head's queries and keys are brought to one size before they are turned (Qwen 3, section 2)."""
    torch.manual_seed(0)

    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.q_norm, self.k_norm = nn.RMSNorm(4), nn.RMSNorm(4)
            self.turn = positions.RotaryPositions()

        def forward(self, q, k, position_ids):
            return self.turn(self.q_norm(q), self.k_norm(k), position_ids)

    layer, x = MultiHeadAttention(12, 3, rotary=Normed()).double(), draw(2, N, 12)
    nn.init.normal_(layer.rotary.q_norm.weight)
    q, k, v = (p(x).unflatten(-1, (3, 4)).transpose(1, 2) for p in (layer.q_proj, layer.k_proj, layer.v_proj))
    eps = torch.finfo(torch.float64).eps
    q, k = (y / (y.square().mean(-1, keepdim=True) + eps).sqrt() for y in (q, k))
    q, k = positions.rotary(q * layer.rotary.q_norm.weight), positions.rotary(k)
    want = layer.out_proj((q @ k.mT / 2).softmax(-1).matmul(v).transpose(1, 2).flatten(-2))
    torch.testing.assert_close(layer(x), want)


# --- in a layer --------------------------------------------------------------------------------------------


class Relative(nn.Module):
    """A number for each distance, which depends on where queries and keys stand in the text."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(draw(4, 41, seed=6))

    def forward(self, score, b, h, q_idx, kv_idx):
        return score + self.table[h, kv_idx - q_idx + 20]


@pytest.mark.parametrize("n_kv_heads", [2, 4])
@torch.no_grad()
def test_a_layer_counts_from_the_first_token_in_its_cache(n_kv_heads):
    torch.manual_seed(0)
    layer = MultiHeadAttention(16, 4, n_kv_heads=n_kv_heads, score_mod=Relative()).double()
    x = draw(2, 9, 16)
    bias = layer.score_mod(torch.zeros(1, dtype=torch.float64), None, torch.arange(4)[:, None, None],
                           torch.arange(9)[:, None], torch.arange(9))[None]  # fmt: skip
    plain = MultiHeadAttention(16, 4, n_kv_heads=n_kv_heads).double()
    plain.load_state_dict(layer.state_dict(), strict=False)
    want = plain(x, bias=bias, is_causal=True)
    torch.testing.assert_close(layer(x, is_causal=True), want)
    for steps in ([1] * 9, [4, 1, 3, 1], [9]):
        cache = layer.new_cache(2, 9)
        got = torch.cat([layer(part, cache=cache) for part in x.split(steps, 1)], 1)
        torch.testing.assert_close(got, want)
    want = plain(x, bias=bias, mask=masks.window(9, 2, 0))
    for prompt in (1, 2, 5):
        cache = layer.new_cache(2, 3, rolling=True)
        parts = [x[:, :prompt], *x[:, prompt:].split(1, 1)]
        torch.testing.assert_close(torch.cat([layer(part, cache=cache) for part in parts], 1), want)


def test_a_module_that_changes_scores_belongs_to_the_layer():
    layer = MultiHeadAttention(16, 4, score_mod=Relative()).double()
    assert "score_mod.table" in layer.state_dict()
    layer(draw(2, 5, 16)).square().sum().backward()
    assert layer.score_mod.table.grad[:, 16:25].all()
    assert not layer.score_mod.table.grad[:, :16].any()
    pooled = layer.grouped(2)
    assert torch.equal(pooled.score_mod.table, layer.score_mod.table)
    context = draw(2, 7, 16, seed=1)
    _, weights = layer(draw(2, 5, 16), context=context, need_weights=True)
    assert weights.shape == (2, 4, 5, 7)


@pytest.mark.parametrize(
    ("score_mod", "error", "message"),
    [
        (50.0, TypeError, r"score_mod must be a function of \(score, b, h, q_idx, kv_idx\), got float"),
        (lambda *_: 1.0, TypeError, "what score_mod returns must be a tensor, got float"),
        (
            lambda score, *_: score.float(),
            TypeError,
            "score_mod must return scores of dtype torch.float64, as it got, got torch.float32",
        ),
        (lambda score, b, h, i, j: i - j, TypeError, "score_mod must return .*, got torch.int64"),
        (
            lambda score, *_: score[..., :5],
            ValueError,
            r"score_mod must return scores of shape \(2, 3, 6, 6\), got \(2, 3, 6, 5\)",
        ),
        (lambda score, *_: score[None], ValueError, r"score_mod must return .* got \(1, 2, 3, 6, 6\)"),
    ],
)
def test_what_is_no_function_of_scores_is_named(score_mod, error, message):
    q, k, v = qkv()
    for attend in (attention, grouped_attention):
        with pytest.raises(error, match=message):
            attend(q, k, v, score_mod=score_mod)


def test_a_layer_refuses_what_is_no_function_of_scores():
    with pytest.raises(TypeError, match=r"score_mod must be a function of .*, got str"):
        MultiHeadAttention(12, 3, score_mod="soft cap")

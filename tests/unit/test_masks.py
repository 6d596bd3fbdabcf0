"""Masks against the definition written out entry by entry."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.attention.flex_attention import create_mask

from attnlab import masks
from attnlab.patterns import RandomBlocks

sizes = st.integers(1, 12)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_causal_is_every_pair_with_column_not_after_row(n):
    want = create_mask(lambda b, h, i, j: i >= j, None, None, n, n, device="cpu")[0, 0]
    assert torch.equal(masks.causal(n), want)


@given(sizes, st.integers(0, 12), st.integers(0, 12))
def test_window_is_every_pair_within_reach(n, before, after):
    want = [[-before <= j - i <= after for j in range(n)] for i in range(n)]
    assert masks.window(n, before, after).tolist() == want


def test_window_is_symmetric_unless_told_otherwise():
    assert torch.equal(masks.window(6, 2), masks.window(6, 2, 2))
    assert torch.equal(masks.window(6, 5, 0), masks.causal(6))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(0, 3))
def test_padding_shows_the_first_tokens_only(lengths, extra):
    n = max(lengths) + extra
    mask = masks.padding(lengths, n)
    assert mask.shape == (len(lengths), 1, n)
    assert mask[:, 0].tolist() == [[j < length for j in range(n)] for length in lengths]


def test_padding_takes_the_longest_when_not_told_a_length():
    assert masks.padding(torch.tensor([2, 4])).shape == (2, 1, 4)


def test_padding_and_causal_are_what_flex_attention_builds():
    lengths = torch.tensor([2, 5, 0, 4])
    for want, rule in (
        (masks.padding(lengths, 5).expand(-1, 5, -1), lambda b, h, i, j: j < lengths[b]),
        (masks.causal(5) & masks.padding(lengths, 5), lambda b, h, i, j: (i >= j) & (j < lengths[b])),
    ):
        assert torch.equal(want, create_mask(rule, 4, None, 5, 5, device="cpu")[:, 0])


def test_masks_combine():
    both = masks.causal(3) & masks.padding([2], 3)
    assert both.int().tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 0]]]
    either = masks.causal(3) | masks.window(3, 0, 1)
    assert either.int().tolist() == [[1, 1, 0], [1, 1, 1], [1, 1, 1]]


@given(sizes, st.lists(st.integers(0, 11), max_size=4))
def test_global_tokens_are_rows_and_columns(n, tokens):
    tokens = [t % n for t in tokens]
    want = [[i in tokens or j in tokens for j in range(n)] for i in range(n)]
    assert masks.global_tokens(n, tokens).tolist() == want


@given(sizes, st.integers(1, 14))
def test_strided_is_the_neighbourhood_and_every_stride_th_token(n, stride):
    def near(i, j):
        return abs(i - j) <= stride or (i - j) % stride == 0

    want = [[j <= i and near(i, j) for j in range(n)] for i in range(n)]
    assert masks.strided(n, stride).tolist() == want
    both = [[near(i, j) for j in range(n)] for i in range(n)]
    assert masks.strided(n, stride, is_causal=False).tolist() == both


@given(sizes, st.integers(1, 14), st.data())
def test_fixed_is_the_own_block_and_the_ends_of_the_others(n, stride, data):
    summary = data.draw(st.integers(0, stride))
    blocks = [list(range(at, min(at + stride, n))) for at in range(0, n, stride)]
    ends = {j for j in range(n) if j % stride in range(stride - summary, stride)}

    def seen(i, j):
        return j in ends or any(i in block and j in block for block in blocks)

    want = [[j <= i and seen(i, j) for j in range(n)] for i in range(n)]
    assert masks.fixed(n, stride, summary).tolist() == want
    both = [[seen(i, j) for j in range(n)] for i in range(n)]
    assert masks.fixed(n, stride, summary, is_causal=False).tolist() == both


@given(st.integers(1, 20), st.integers(1, 4), st.data())
def test_random_keys_are_whole_blocks_and_as_many_as_asked_for(n, block, data):
    total = -(-n // block)
    count = data.draw(st.integers(0, total))
    mask = masks.random_keys(n, count, seed=3, block_size=block)
    table = RandomBlocks(count, block, seed=3).drawn(n)
    assert table.shape == (total, count)
    assert (table.diff(dim=1) > 0).all()  # ascending, so that keys are read in order
    for i in range(n):
        drawn = set(table[i // block].tolist())
        assert len(drawn) == count
        assert mask[i].tolist() == [j // block in drawn for j in range(n)]


def test_random_keys_are_fixed_by_the_seed_and_drawn_evenly():
    assert torch.equal(masks.random_keys(50, 3, seed=1), masks.random_keys(50, 3, seed=1))
    assert not torch.equal(masks.random_keys(50, 3, seed=1), masks.random_keys(50, 3, seed=2))
    share = sum(masks.random_keys(8, 3, seed=seed).double() for seed in range(500)) / 500
    # Each of the 64 shares scatters about 3/8 with a standard error of 0.022.
    assert (share - 3 / 8).abs().max() < 4 * (3 / 8 * 5 / 8 / 500) ** 0.5


@given(sizes, st.data())
def test_prefix_is_flex_attentions_prefix(n, data):
    length = data.draw(st.integers(0, n))
    want = create_mask(lambda b, h, i, j: (j < length) | (i >= j), None, None, n, n, device="cpu")[0, 0]
    assert torch.equal(masks.prefix(n, length), want)


def test_prefix_takes_a_length_for_each_sequence():
    lengths = torch.tensor([3, 0, 5])
    want = create_mask(lambda b, h, i, j: (j < lengths[b]) | (i >= j), 3, None, 5, 5, device="cpu")[:, 0]
    assert torch.equal(masks.prefix(5, lengths), want)
    assert torch.equal(masks.prefix(5, [3, 0, 5]), want)


@given(st.lists(st.integers(-2, 3), min_size=1, max_size=12))
def test_packed_is_flex_attentions_document_mask(ids):
    n, owner = len(ids), torch.tensor(ids)
    want = create_mask(lambda b, h, i, j: owner[i] == owner[j], None, None, n, n, device="cpu")[0, 0]
    assert torch.equal(masks.packed(ids), want)


def test_packed_keeps_a_batch_apart_and_combines_with_causal():
    owner = torch.tensor([[0, 0, 1, 1, 1], [7, 8, 8, 8, 9]])
    want = create_mask(
        lambda b, h, i, j: (owner[b][i] == owner[b][j]) & (i >= j), 2, None, 5, 5, device="cpu"
    )[:, 0]
    assert torch.equal(masks.packed(owner) & masks.causal(5), want)


def attend(mask, order="before"):
    """Attend, hiding before the softmax, after it, or after it with each row divided by its sum again."""

    def model(x):
        scores = x @ x.transpose(-2, -1)
        if order == "before":
            return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ x
        weights = scores.softmax(-1) * mask
        return (weights / weights.sum(-1, keepdim=True) if order == "divided" else weights) @ x

    return model


@pytest.mark.parametrize("kind", [masks.causal(5), masks.window(5, 1, 0), masks.packed([0, 0, 1, 1, 1])])
def test_an_honest_model_does_not_leak_and_a_late_mask_does(kind):
    assert masks.leaks(attend(kind), 5, 3, kind) is None
    assert masks.leaks(attend(kind, "after"), 5, 3, kind) == tuple((~kind).nonzero()[0].tolist())
    # Divided by its sum again, a late mask is an early one, up to rounding: no leak, in either precision.
    assert masks.leaks(attend(kind, "divided"), 5, 3, kind) is None
    assert masks.leaks(lambda x: attend(kind, "divided")(x.double()), 5, 3, kind) is None


@given(st.integers(2, 7), st.data())
def test_leaks_names_the_first_pair_in_reading_order(n, data):
    pairs = [(i, j) for i in range(n) for j in range(n) if j > i]
    open_ones = data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=3))
    mask = masks.causal(n)
    for i, j in open_ones:
        mask[i, j] = True
    assert masks.leaks(attend(mask), n, 2) == min(open_ones)


def test_leaks_sees_through_layers_and_leaves_parameters_alone():
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4)).double()
    assert masks.leaks(layers, 6, 4) is None
    assert masks.leaks(layers, 6, 4, ~torch.eye(6, dtype=torch.bool)) == (0, 0)
    assert all(p.grad is None for p in layers.parameters())
    assert masks.leaks(lambda x: torch.ones(1, 6, 2), 6, 4) is None  # no dependence at all
    flipped = torch.nn.LSTM(4, 3, bidirectional=True, batch_first=True)
    assert masks.leaks(lambda x: flipped(x)[0], 5, 4) == (0, 1)
    assert masks.leaks(lambda x: flipped(x)[0][..., :3], 5, 4) is None


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_leaks_is_not_fooled_where_no_gradient_is_recorded(off):
    layer = torch.nn.Linear(3, 3)
    with off():
        assert masks.leaks(attend(masks.window(5, 4, 1)), 5, 3) == (0, 1)
        assert masks.leaks(attend(masks.causal(5)), 5, 3) is None
        assert masks.leaks(layer, 5, 3) is None


def test_leaks_sees_what_a_sum_hides_and_what_is_faint():
    def cancels(x):
        difference = x[:, 1:, :1] - 2 * x[:, 1:, 1:2]  # of the next token
        return torch.cat((torch.cat((difference, -difference), -1), x[:, -1:]), 1)

    assert masks.leaks(cancels, 4, 2) == (0, 1)
    for faint in (1e-3, 1e-4):
        assert masks.leaks(lambda x, share=faint: x + share * x.roll(-1, 1), 4, 2) == (0, 1)
    assert masks.leaks(lambda x: x.double() + 1e-6 * x.double().roll(-1, 1), 4, 2) is None  # 8 roundings


def test_leaks_asks_more_than_once():
    seen = []

    def now_and_then(x):
        seen.append(x.detach())
        return x.cumsum(1) if len(seen) < 3 else x.roll(-1, 1)

    assert masks.leaks(now_and_then, 4, 2) == (0, 1)
    assert not torch.equal(seen[0], seen[1])


def test_leaks_says_that_a_row_is_nan():
    mask = masks.causal(4)
    mask[2] = False
    with pytest.raises(ValueError, match="row 2 of the output is NaN"):
        masks.leaks(attend(mask), 4, 2)
    # The output is fine, its gradient is not: the root has an infinite slope at zero, times zero.
    with pytest.raises(ValueError, match="the gradient of row 0 of the output is NaN"):
        masks.leaks(lambda x: (0 * x).abs().sqrt(), 4, 2)


def reader(mask, vocab_size=7, seed=0, behind=lambda out: out):
    """A model that takes the numbers of words."""
    table = torch.randn(vocab_size, 5, generator=torch.Generator().manual_seed(seed))
    return lambda words: behind(attend(mask)(table[words]))


def test_leaks_asks_a_model_of_words_by_exchanging_them():
    assert masks.leaks(reader(masks.causal(6)), 6, vocab_size=7) is None
    assert masks.leaks(reader(masks.causal(6)), 6, mask=masks.causal(6).tril(-1), vocab_size=7) == (0, 0)
    for seed in range(5):
        assert masks.leaks(reader(masks.window(6, 5, 1), seed=seed), 6, vocab_size=7) == (0, 1)
        assert masks.leaks(reader(masks.causal(6), seed=seed), 6, vocab_size=2) is None
    late = attend(masks.causal(6), "after")
    assert masks.leaks(lambda words: late(torch.eye(7)[words]), 6, vocab_size=7) == (0, 1)
    with torch.inference_mode():
        assert masks.leaks(reader(masks.window(6, 5, 1)), 6, vocab_size=7) == (0, 1)
    module = nn.Sequential(nn.Embedding(9, 4), nn.LayerNorm(4))
    assert masks.leaks(module.double(), 5, vocab_size=9) is None
    assert masks.leaks(lambda words: words.flip(1), 5, vocab_size=9) == (0, 4)  # whole numbers out


def test_leaks_never_exchanges_a_word_for_itself():
    for n in range(2, 12):
        assert masks.leaks(lambda words: words.roll(-1, 1), n, vocab_size=2) == (0, 1)


def test_leaks_of_words_counts_no_rounding_and_every_faint_leak():
    def with_share(share):
        return reader(masks.causal(5), behind=lambda out: out + share * out.roll(-1, 1))

    assert masks.leaks(with_share(1e-4), 5, vocab_size=7) is not None
    assert masks.leaks(with_share(1e-6), 5, vocab_size=7) is None
    divided = attend(masks.causal(6), "divided")
    assert masks.leaks(lambda words: divided(torch.eye(7)[words]), 6, vocab_size=7) is None


def test_leaks_says_that_a_model_is_random():
    model = nn.Sequential(nn.Embedding(9, 4), nn.Dropout(0.5))
    with pytest.raises(ValueError, match="is dropout on"):
        masks.leaks(model, 5, vocab_size=9)
    assert masks.leaks(model.eval(), 5, vocab_size=9) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: masks.leaks(lambda x: x, 3), "give d_model .* got d_model = None and vocab_size = None"),
        (lambda: masks.leaks(lambda x: x, 3, 2, vocab_size=5), "give d_model .* or vocab_size"),
        (lambda: masks.leaks(lambda x: x, 3, vocab_size=1), "vocab_size must be at least 2, got 1"),
        (lambda: masks.prefix(-1, 0), "n must be at least 0, got -1"),
        (lambda: masks.prefix(3, 4), "length must lie between 0 and n = 3, got 4"),
        (lambda: masks.prefix(3, [1, -1]), r"lengths must lie between 0 and n = 3, got \[1, -1\]"),
        (lambda: masks.packed([]), r"documents must have shape \(..., n\) with n >= 1, got \(0,\)"),
        (lambda: masks.packed(torch.tensor(1)), r"documents must have shape .* got \(\)"),
        (lambda: masks.packed([0.5]), "documents must be whole numbers, got dtype torch.float32"),
        (lambda: masks.leaks(lambda x: x, 0, 2), "n must be at least 1, got 0"),
        (lambda: masks.leaks(lambda x: x, 2, 0), "d_model must be at least 1, got 0"),
        (
            lambda: masks.leaks(lambda x: x, 3, 2, masks.causal(2)),
            r"mask must have shape \(n, n\) = \(3, 3\), got \(2, 2\)",
        ),
        (lambda: masks.leaks(lambda x: x[:, 1:], 3, 2), r"return shape \(1, n = 3, ...\), it .*\(1, 2, 2\)"),
        (lambda: masks.causal(-1), "n must be at least 0, got -1"),
        (lambda: masks.global_tokens(4, [0, 4]), r"tokens must lie between 0 and n - 1 = 3, got \[0, 4\]"),
        (lambda: masks.global_tokens(4, [0.5]), "positions .* must be a list of whole numbers"),
        (lambda: masks.random_keys(4, 5, seed=0), "n_random must be at most 4"),
        (
            lambda: masks.random_keys(5, 3, seed=0, block_size=3),
            "n_random must be at most 2.*blocks of 3 in 5, got 3",
        ),
        (lambda: masks.random_keys(4, 1, seed=0, block_size=0), "block_size must be at least 1, got 0"),
        (lambda: masks.strided(4, 0), "stride must be at least 1, got 0"),
        (lambda: masks.fixed(4, 2, 3), "summary must lie between 0 and stride = 2, got 3"),
        (lambda: masks.window(4, -1), "before must be at least 0, got -1"),
        (lambda: masks.window(4, 1, -2), "after must be at least 0, got -2"),
        (lambda: masks.padding([3, 5], 4), r"lengths must lie between 0 and n = 4, got \[3, 5\]"),
        (lambda: masks.padding([-1]), r"lengths must lie between 0 and n = -1, got \[-1\]"),
        (lambda: masks.padding([]), r"lengths must have shape \(batch,\) with batch >= 1, got \(0,\)"),
        (lambda: masks.padding([1.5]), "lengths must be whole numbers, got dtype torch.float32"),
        (lambda: masks.padding(torch.ones(2, 2).long()), r"lengths must have shape \(batch,\).*got \(2, 2\)"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_leaks_wants_a_boolean_mask():
    with pytest.raises(TypeError, match=r"mask must be a boolean tensor .* got dtype torch.float32"):
        masks.leaks(lambda x: x, 2, 2, torch.ones(2, 2))


@pytest.mark.parametrize(
    "make",
    [
        masks.causal,
        lambda n: masks.window(n, 2),
        lambda n: masks.global_tokens(n, []),
        lambda n: masks.random_keys(n, 0, seed=0),
        lambda n: masks.strided(n, 3),
        lambda n: masks.fixed(n, 3),
        lambda n: masks.prefix(n, 0),
    ],
)
def test_a_text_without_tokens_has_a_mask_without_pairs(make):
    assert make(0).shape[-2:] == (0, 0)
    assert make(0).dtype == torch.bool


@pytest.mark.parametrize("n", [2.5, 3.0, "3", None])
def test_a_length_that_is_no_whole_number_is_refused(n):
    for make in (masks.causal, lambda n: masks.window(n, 1), lambda n: masks.prefix(n, 1)):
        with pytest.raises(TypeError, match=f"n must be a whole number, got {n!r}"):
            make(n)

"""Patterns: each against its definition pair by pair, and every way to join them against dense attention."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_block_mask

from attnlab import attention, sparse
from attnlab.patterns import (
    Blocks,
    Causal,
    Every,
    Everything,
    Fixed,
    GlobalTokens,
    Pattern,
    RandomBlocks,
    SeenByAll,
    SeesAll,
    Strided,
    Summaries,
    Window,
)

RULES = {  # pattern and what it says of query i and key j
    "window": (Window(3, 1), lambda i, j: -3 <= j - i <= 1),
    "one width": (Window(2), lambda i, j: abs(i - j) <= 2),
    "causal": (Causal(), lambda i, j: j <= i),
    "everything": (Everything(), lambda i, j: True),
    "every": (Every(3), lambda i, j: (i - j) % 3 == 0),
    "blocks": (Blocks(4), lambda i, j: i // 4 == j // 4),
    "summaries": (Summaries(4, 2), lambda i, j: j % 4 in (2, 3)),
    "seen by all": (SeenByAll([5, 0]), lambda i, j: j in (0, 5)),
    "sees all": (SeesAll(torch.tensor([5, 0])), lambda i, j: i in (0, 5)),
    "global tokens": (GlobalTokens([2, 2]), lambda i, j: i == 2 or j == 2),
    "strided": (Strided(4), lambda i, j: abs(i - j) <= 4 or (i - j) % 4 == 0),
    "fixed": (Fixed(5, 2), lambda i, j: i // 5 == j // 5 or j % 5 in (3, 4)),
    "dilated": (Window(6) & Every(3), lambda i, j: j - i in (-6, -3, 0, 3, 6)),
    "either": (Window(1) | SeenByAll([0]), lambda i, j: abs(i - j) <= 1 or j == 0),
}


@pytest.mark.parametrize("name", RULES)
def test_a_pattern_is_its_definition(name):
    pattern, rule = RULES[name]
    for n in (6, 17):
        want = [[rule(i, j) for j in range(n)] for i in range(n)]
        assert pattern.dense(n).tolist() == want
        place = torch.arange(n)
        assert pattern.mask_mod(n)(0, 0, place[:, None], place).expand(n, n).tolist() == want


leaves = st.one_of(
    st.builds(Window, st.integers(0, 40), st.integers(0, 40)),
    st.builds(Causal),
    st.builds(Everything),
    st.builds(Every, st.integers(1, 20)),
    st.builds(Blocks, st.integers(1, 50)),
    st.builds(Fixed, st.integers(3, 20), st.integers(0, 3)),
    st.builds(Strided, st.integers(1, 20)),
    st.builds(GlobalTokens, st.lists(st.integers(0, 29), max_size=3)),
    st.builds(SeenByAll, st.lists(st.integers(0, 29), max_size=3)),
    st.builds(SeesAll, st.lists(st.integers(0, 29), max_size=3)),
    st.builds(RandomBlocks, st.integers(0, 2), st.sampled_from([1, 7, 15]), st.integers(0, 3)),
)
joined = st.recursive(
    leaves,
    lambda some: st.builds(lambda a, b, both: a & b if both else a | b, some, some, st.booleans()),
    max_leaves=5,
)
lengths = st.integers(30, 130)


def seen(tiles, n):
    """Count in how many tiles each pair is visible."""
    times = torch.zeros(n * n, dtype=torch.long)
    for one in tiles:
        i, j = (rows.tokens(0, one.count, "cpu") for rows in (one.queries, one.keys))
        pairs = (i[:, :, None] * n + j[:, None])[one.visible(0, one.count)]
        times.index_add_(0, pairs, torch.ones_like(pairs))
    return times.view(n, n)


@given(joined, lengths, st.none() | st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_every_pair_lies_in_one_tile_of_each_direction(pattern, n, block_size):
    plan, want = pattern.plan(n, block_size=block_size), pattern.dense(n).long()
    for tiles in (plan.forward, plan.backward):
        assert torch.equal(seen(tiles, n), want)
        for one in tiles if block_size else ():
            assert max(one.queries.size, one.keys.size) <= block_size
    assert plan.may_be_empty == bool((want.sum(1) == 0).any())


@given(joined, lengths, st.booleans())
@settings(max_examples=60, deadline=None)
def test_attention_under_any_pattern_is_dense_attention_under_its_mask(pattern, n, hidden):
    torch.manual_seed(0)
    some = [torch.randn(2, 2, n, width, dtype=torch.float64).requires_grad_() for width in (3, 3, 3)]
    grad = torch.randn(2, 2, n, 3, dtype=torch.float64)
    kept = torch.arange(n) < torch.tensor([[n // 3], [n]]) if hidden else None
    mask = pattern.dense(n) if kept is None else pattern.dense(n) & kept[:, None, None]
    ours, dense = sparse.attend(*some, pattern, key_mask=kept), attention(*some, mask=mask)
    assert (ours - dense).abs().max() < 1e-12
    for got, want in zip(*(torch.autograd.grad(out, some, grad) for out in (ours, dense)), strict=True):
        assert (got - want).abs().max() < 1e-12


def test_a_query_whose_first_tile_is_hidden_twice_finds_its_key_later():
    # Token 1 meets even keys, which neither the pattern nor the mask lets it see, before it meets key 7.
    pattern = (SeesAll([0, 1, 2]) & SeenByAll([0, 2, 4, 6]) & Every(2)) | SeenByAll([7])
    assert pattern.plan(40).blank_queries
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 40, 4)
    kept = torch.arange(40)[None] > 6
    dense = attention(q, k, v, mask=pattern.dense(40) & kept)
    assert (sparse.attend(q, k, v, pattern, key_mask=kept) - dense).abs().max() < 1e-6


@given(joined, joined)
@settings(max_examples=30, deadline=None)
def test_joined_patterns_are_joined_masks(one, other):
    a, b = one.dense(35), other.dense(35)
    assert torch.equal((one | other).dense(35), a | b)
    assert torch.equal((one & other).dense(35), a & b)


def listed(count, blocks):
    """Return the blocks of each row as sets."""
    return [set(row[:some].tolist()) for some, row in zip(count.flatten(), blocks[0, 0], strict=True)]


@given(joined, st.sampled_from([30, 128, 300, 512]))
@settings(max_examples=30, deadline=None)
def test_the_blocks_are_those_that_flex_attention_finds(pattern, n):
    ours = pattern.block_mask(n)
    want = create_block_mask(pattern.mask_mod(n), None, None, n, n, device="cpu")
    assert ours.seq_lengths == want.seq_lengths
    for name in ("kv", "full_kv", "q", "full_q"):
        got, wanted = (
            listed(getattr(x, f"{name}_num_blocks"), getattr(x, f"{name}_indices")) for x in (ours, want)
        )
        assert got == wanted, name


def test_a_key_mask_asks_the_rule_in_every_block():
    kept = torch.arange(300) < torch.tensor([[300], [40]])
    blocks = (Window(200, 0) | GlobalTokens([0])).block_mask(300, key_mask=kept)
    assert blocks.full_kv_num_blocks is None
    plain = (Window(200, 0) | GlobalTokens([0])).block_mask(300)
    whole = plain.kv_num_blocks + plain.full_kv_num_blocks
    assert torch.equal(blocks.kv_num_blocks, whole)
    i, j = torch.arange(300)[:, None], torch.arange(300)
    dense = (Window(200, 0) | GlobalTokens([0])).dense(300)
    for batch in (0, 1):
        got = blocks.mask_mod(torch.tensor(batch), 0, i, j)
        assert torch.equal(got, dense & kept[batch])


def test_patterns_are_values():
    a, b = Window(2) | GlobalTokens([3, 1]), Window(2, 2) | GlobalTokens(torch.tensor([1, 3, 3]))
    assert a == b
    assert hash(a) == hash(b)
    assert repr(a & Causal()) == "((Window(before=2, after=2) | GlobalTokens(positions=(1, 3))) & Causal())"
    assert SeenByAll([1]) != SeesAll([1])
    assert isinstance(a, Pattern)
    with pytest.raises(TypeError):
        Window(2) | 3


def test_what_is_written_twice_costs_once():
    window = Window(5) & Window(9, 2)
    assert [one.pairs for one in window.tiles(64)] == [one.pairs for one in Window(5, 2).tiles(64)]
    again = (Strided(4) | Window(2)) & Causal() & Causal()
    assert sum(one.pairs for one in again.tiles(64)) == sum(
        one.pairs for one in (Strided(4) & Causal()).tiles(64)
    )


def test_windows_that_meet_are_narrow():
    # Each of the two is half of the square; what both see is the diagonal.
    assert sum(one.pairs for one in (Causal() & Window(0, 4096)).tiles(4096)) == 4096 * 32


def test_where_patterns_meet_the_tiles_of_the_smaller_are_taken():
    for pattern in (Every(2) & Blocks(8), Blocks(8) & Every(2), Blocks(8) & Everything()):
        assert sum(one.pairs for one in pattern.tiles(512)) == 512 * 8


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Window(-1), "before must be at least 0, got -1"),
        (lambda: Window(1, -2), "after must be at least 0, got -2"),
        (lambda: Strided(0), "stride must be at least 1, got 0"),
        (lambda: Every(0), "stride must be at least 1, got 0"),
        (lambda: Blocks(0), "stride must be at least 1, got 0"),
        (lambda: Fixed(3, 4), "summary must lie between 0 and stride = 3, got 4"),
        (lambda: GlobalTokens([-1]), r"positions of global tokens must not be negative, got \[-1\]"),
        (lambda: GlobalTokens([[1]]), r"must be a list of whole numbers, got \(1, 1\) of dtype torch.int64"),
        (lambda: GlobalTokens([8]).dense(8), r"must lie between 0 and n - 1 = 7, got \[8\]"),
        (lambda: GlobalTokens([8]).tiles(8), r"must lie between 0 and n - 1 = 7, got \[8\]"),
        (lambda: RandomBlocks(1, 0), "block_size must be at least 1, got 0"),
        (lambda: RandomBlocks(-1), "n_random must be at least 0, got -1"),
        (lambda: RandomBlocks(2).dense(64), "n_random must be at most 1, the number of blocks of 64 in 64"),
        (lambda: Window(1).tiles(0), "n must be at least 1, got 0"),
        (lambda: Window(1).dense(-1), "n must be at least 0, got -1"),
        (lambda: Window(1).tiles(4, block_size=0), "block_size must be at least 1, got 0"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_every_set_of_random_blocks_is_as_likely_as_any_other():
    drawn = torch.cat([RandomBlocks(2, block_size=1, seed=seed).drawn(6) for seed in range(1000)])
    sets, counts = drawn.unique(dim=0, return_counts=True)
    assert len(sets) == 15
    assert (counts - 400).abs().max() < 100  # a standard error of 19

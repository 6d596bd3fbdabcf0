"""Masks against the definition written out entry by entry."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention.flex_attention import create_mask

from attnlab import masks

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


def test_masks_combine():
    both = masks.causal(3) & masks.padding([2], 3)
    assert both.int().tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 0]]]
    either = masks.causal(3) | masks.window(3, 0, 1)
    assert either.int().tolist() == [[1, 1, 0], [1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: masks.causal(0), "n must be at least 1, got 0"),
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

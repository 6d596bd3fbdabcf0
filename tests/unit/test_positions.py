"""Positions against the formulas written out, and by the properties that make them useful."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab import positions

LAYOUTS = ["interleaved", "halves"]


def vectors(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("base", [10000.0, 500.0])
def test_sinusoidal_entry_by_entry(base):
    table = positions.sinusoidal(6, 8, base=base, dtype=torch.float64)
    for pos in range(6):
        for i in range(4):
            angle = pos / base ** (2 * i / 8)
            assert math.isclose(table[pos, 2 * i], math.sin(angle), abs_tol=1e-14)
            assert math.isclose(table[pos, 2 * i + 1], math.cos(angle), abs_tol=1e-14)


def test_sinusoidal_dtype_and_accuracy_far_out():
    table = positions.sinusoidal(100_000, 4)
    assert table.dtype == torch.float32
    assert math.isclose(table[99_999, 0], math.sin(99_999), abs_tol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(m=st.integers(0, 500), n=st.integers(0, 500), shift=st.integers(-400, 4000), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_rotary_scores_depend_on_the_distance_alone(layout, m, n, shift, seed):
    q, k = vectors(2, 1, 8, seed=seed)

    def score(a, b):
        a, b = torch.tensor([a]), torch.tensor([b])
        return positions.rotary(q, a, layout=layout) @ positions.rotary(k, b, layout=layout).T

    assert torch.allclose(score(m, n), score(m + shift, n + shift), atol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rotary_is_a_rotation_of_complex_numbers(layout):
    x = vectors(2, 5, 8)
    pairs = x.unflatten(-1, (4, 2)) if layout == "interleaved" else torch.stack(x.chunk(2, -1), -1)
    turn = torch.polar(
        torch.ones(5, 4, dtype=torch.float64),
        torch.tensor([[m / 10000 ** (2 * i / 8) for i in range(4)] for m in range(5)], dtype=torch.float64),
    )
    want = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turn)
    got = positions.rotary(x, layout=layout)
    got = got.unflatten(-1, (4, 2)) if layout == "interleaved" else torch.stack(got.chunk(2, -1), -1)
    assert torch.allclose(got, want, atol=1e-14)
    assert torch.allclose(got.flatten(-2).norm(dim=-1), x.norm(dim=-1))


def test_the_layouts_are_one_rotation_with_its_dimensions_reordered():
    x = vectors(5, 8)
    order = [0, 4, 1, 5, 2, 6, 3, 7]  # halves -> interleaved
    assert torch.allclose(
        positions.rotary(x, layout="halves")[:, order], positions.rotary(x[:, order]), atol=1e-14
    )


def test_position_zero_changes_nothing_and_others_do():
    x = vectors(3, 8)
    assert torch.equal(positions.rotary(x)[0], x[0])
    assert not torch.allclose(positions.rotary(x)[1], x[1])


def test_positions_count_tokens_not_the_batch():
    x = vectors(1, 5, 8).expand(3, 5, 8)
    turned = positions.rotary(x)
    assert torch.equal(turned[0], turned[2])


def test_half_precision_keeps_the_phase():
    x = torch.ones(1, 2, dtype=torch.bfloat16)
    got = positions.rotary(x, torch.tensor([5001]))
    assert got.dtype == torch.bfloat16
    assert math.isclose(got[0, 0], math.cos(5001) - math.sin(5001), abs_tol=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: positions.sinusoidal(0, 4), "n must be at least 1, got 0"),
        (lambda: positions.sinusoidal(3, 5), "d_model must be even and at least 2, got 5"),
        (lambda: positions.rotary(torch.ones(2, 3)), "last dimension of x must be even .*got 3"),
        (lambda: positions.rotary(torch.ones(4)), r"x must have shape \(..., n, d\), got \(4,\)"),
        (
            lambda: positions.rotary(torch.ones(2, 4), torch.arange(3)),
            r"positions must end in n = 2, got .*\(3,\)",
        ),
        (
            lambda: positions.rotary(torch.ones(2, 4), layout="pairs"),
            "layout must be 'interleaved' or 'halves', got 'pairs'",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

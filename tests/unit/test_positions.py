"""Positions against the formulas written out, and by the properties that make them useful."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab import masks, positions
from attnlab.dot_product import attention
from attnlab.multihead import MultiHeadAttention

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


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=5), st.sampled_from(LAYOUTS))
@settings(max_examples=30)
def test_rotary_takes_fractions_of_a_position(places, layout):
    x = vectors(len(places), 4)
    got = positions.rotary(x, torch.tensor(places, dtype=torch.float64), base=50.0, layout=layout)
    for m, row, turned in zip(places, x.tolist(), got.tolist(), strict=True):
        for i, rate in enumerate((1.0, 50**-0.5)):
            a, b = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + 2)
            cos, sin = math.cos(m * rate), math.sin(m * rate)
            assert turned[a] == pytest.approx(row[a] * cos - row[b] * sin, abs=1e-12)
            assert turned[b] == pytest.approx(row[a] * sin + row[b] * cos, abs=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("places", [None, torch.tensor([7.0, 0.5, -3.0])])
def test_queries_and_keys_are_turned_together_as_one_by_one(layout, places):
    q, k = vectors(2, 4, 3, 8), vectors(2, 1, 3, 8, seed=1)
    turn = positions.RotaryPositions(base=300.0, layout=layout)
    for x, turned in zip((q, k), turn(q, k, places), strict=True):
        assert torch.equal(turned, positions.rotary(x, places, base=300.0, layout=layout))
    part = positions.RotaryPositions(layout=layout, width=4)
    for x, turned in zip((q, k), part(q, k, places), strict=True):
        assert torch.equal(turned[..., :4], positions.rotary(x[..., :4], places, layout=layout))
        assert torch.equal(turned[..., 4:], x[..., 4:])
    assert not turn.state_dict()
    assert repr(part) == f"RotaryPositions(base=10000.0, layout={layout!r}, width=4)"


@pytest.mark.parametrize(
    "make", [positions.sinusoidal, lambda n, d: positions.LearnedPositions(3, d).weight[:n]]
)
def test_no_token_has_no_positions(make):
    assert make(0, 4).shape == (0, 4)
    assert positions.rotary(torch.ones(2, 0, 4)).shape == (2, 0, 4)
    assert positions.alibi(3, 0).shape == positions.RelativeBias(3, 2)(0).shape == (3, 0, 0)
    assert positions.alibi(3, 0, 5).shape == positions.RelativeBias(3, 2)(0, 5).shape == (3, 0, 5)


def test_positions_count_tokens_not_the_batch():
    x = vectors(1, 5, 8).expand(3, 5, 8)
    turned = positions.rotary(x)
    assert torch.equal(turned[0], turned[2])


def test_half_precision_keeps_the_phase():
    x = torch.ones(1, 2, dtype=torch.bfloat16)
    got = positions.rotary(x, torch.tensor([5001]))
    assert got.dtype == torch.bfloat16
    assert math.isclose(got[0, 0], math.cos(5001) - math.sin(5001), abs_tol=0.02)


@given(
    pos=st.integers(0, 300),
    k=st.integers(-300, 3000),
    pairs=st.integers(1, 6),
    base=st.sampled_from([10000.0, 50.0]),
)
@settings(max_examples=40)
def test_rotation_moves_every_position_by_k(pos, k, pairs, base):
    def encode(p):
        angles = [p * base ** (-i / pairs) for i in range(pairs)]
        return torch.tensor([f(a) for a in angles for f in (math.sin, math.cos)], dtype=torch.float64)

    turn = positions.rotation(k, 2 * pairs, base=base, dtype=torch.float64)
    assert torch.allclose(turn @ encode(pos), encode(pos + k), atol=1e-9)
    assert torch.allclose(turn @ turn.T, torch.eye(2 * pairs, dtype=torch.float64), atol=1e-12)


def test_rotations_add_up_and_go_back():
    def turn(k):
        return positions.rotation(k, 6, dtype=torch.float64)

    assert torch.allclose(turn(2) @ turn(3.5), turn(5.5), atol=1e-12)
    assert torch.allclose(turn(-4), turn(4).T, atol=1e-12)
    assert positions.rotation(1, 4).dtype == torch.float32


def test_learned_positions_are_added_row_by_row():
    torch.manual_seed(0)
    layer = positions.LearnedPositions(7, 64, std=0.3)
    x = torch.randn(2, 3, 5, 64)
    got = layer(x)
    for i in range(5):
        assert torch.equal(got[:, :, i], x[:, :, i] + layer.weight[i])
    assert layer.weight.std().item() == pytest.approx(0.3, abs=0.03)
    got.sum().backward()
    assert layer.weight.grad.tolist() == [[6.0] * 64] * 5 + [[0.0] * 64] * 2


@given(n_q=st.integers(1, 7), more=st.integers(0, 5), reach=st.integers(0, 4), heads=st.integers(1, 3))
@settings(max_examples=40)
def test_relative_bias_entry_by_entry(n_q, more, reach, heads):
    layer = positions.RelativeBias(heads, reach)
    assert layer(n_q).abs().sum() == 0
    with torch.no_grad():
        layer.weight.copy_(torch.randn(heads, 2 * reach + 1, generator=torch.Generator().manual_seed(0)))
    n_k = n_q + more
    got = layer(n_q, n_k)
    assert got.shape == (heads, n_q, n_k)
    for head in range(heads):
        for i in range(n_q):
            for j in range(n_k):
                distance = min(max(j - (i + more), -reach), reach)
                assert got[head, i, j] == layer.weight[head, distance + reach]


def test_relative_bias_is_trained_by_the_places_that_use_it():
    layer = positions.RelativeBias(1, 2)
    layer(4).sum().backward()
    assert layer.weight.grad.tolist() == [[3.0, 3.0, 4.0, 3.0, 3.0]]  # the ends collect distance 3 too


def test_alibi_slopes_are_those_of_the_paper():
    assert positions.alibi_slopes(8) == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    assert positions.alibi_slopes(16)[:3] == pytest.approx([2**-0.5, 2**-1, 2**-1.5])
    # Six heads: the four of four heads, then the first and the third of eight.
    assert positions.alibi_slopes(6) == [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]
    assert positions.alibi_slopes(1) == [1 / 256]


@given(heads=st.integers(1, 40))
@settings(max_examples=40)
def test_alibi_slopes_for_any_number_of_heads(heads):
    def reference(n):  # the recursion of the published code, written out anew
        if math.log2(n).is_integer():
            ratio = 2 ** (-8 / n)
            return [ratio ** (h + 1) for h in range(n)]
        power = 2 ** math.floor(math.log2(n))
        return reference(power) + reference(2 * power)[0::2][: n - power]

    assert positions.alibi_slopes(heads) == pytest.approx(reference(heads))
    assert len(set(positions.alibi_slopes(heads))) == heads


@given(n_q=st.integers(1, 6), more=st.integers(0, 5), heads=st.integers(1, 5))
@settings(max_examples=30)
def test_alibi_entry_by_entry(n_q, more, heads):
    got = positions.alibi(heads, n_q, n_q + more)
    for head, slope in enumerate(positions.alibi_slopes(heads)):
        for i in range(n_q):
            for j in range(n_q + more):
                assert got[head, i, j].item() == pytest.approx(-slope * abs(i + more - j))


@pytest.mark.parametrize("make", [positions.alibi, lambda h, *n: bias_of(h)(*n)])
def test_cached_queries_get_the_last_rows(make):
    assert torch.equal(make(3, 2, 9), make(3, 9)[:, -2:])


def bias_of(heads):
    layer = positions.RelativeBias(heads, 3)
    torch.nn.init.normal_(layer.weight, generator=torch.Generator().manual_seed(1))
    return layer


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("make", [positions.alibi, lambda h, n: bias_of(h)(n)])
def test_biases_compose_with_padding_and_causal(make, is_causal):
    q, k, v = vectors(3, 2, 2, 5, 8).float()  # each (batch, n_heads, n, d_head)
    bias, lengths = make(2, 5).detach()[None], [3, 5]
    fused = attention(q, k, v, mask=masks.padding(lengths)[:, None], bias=bias, is_causal=is_causal)
    for batch, length in enumerate(lengths):
        for head in range(2):
            for i in range(5):
                seen = range(min(i + 1, length) if is_causal else length)
                scores = [
                    (q[batch, head, i] @ k[batch, head, j]) / 8**0.5 + bias[0, head, i, j] for j in seen
                ]
                weights = torch.softmax(torch.stack(scores), 0)
                want = sum(w * v[batch, head, j] for w, j in zip(weights, seen, strict=True))
                assert torch.allclose(fused[batch, head, i], want, atol=1e-5)
    weights = attention(
        q, k, v, mask=masks.padding(lengths)[:, None], bias=bias, is_causal=is_causal, need_weights=True
    )[1]
    assert torch.allclose(weights @ v, fused, atol=1e-5)


def test_a_layer_takes_the_bias_with_a_batch_axis():
    torch.manual_seed(0)
    layer = MultiHeadAttention(8, 2)
    x = torch.randn(3, 4, 8)
    bias = positions.RelativeBias(2, 1)
    torch.nn.init.normal_(bias.weight)
    _, weights = layer(x, bias=bias(4)[None], need_weights=True)
    _, plain = layer(x, need_weights=True)
    want = torch.softmax(plain.log() + bias(4), -1)
    assert torch.allclose(weights, want, atol=1e-6)
    weights[:, 0, 2, 0].sum().backward()
    assert bias.weight.grad[0].abs().min() > 0
    assert bias.weight.grad[1].abs().max() == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: positions.sinusoidal(-1, 4), "n must be at least 0, got -1"),
        (lambda: positions.sinusoidal(3, 5), "d_model must be even and at least 2, got 5"),
        (lambda: positions.rotary(torch.ones(2, 3)), "last dimension of x must be even .*got 3"),
        (lambda: positions.rotary(torch.ones(4)), r"x must have shape \(..., n, d\), got \(4,\)"),
        (lambda: positions.rotation(1, 3), "d_model must be even and at least 2, got 3"),
        (lambda: positions.LearnedPositions(0, 4), "max_positions must be at least 1, got 0"),
        (lambda: positions.LearnedPositions(4, 0), "d_model must be at least 1, got 0"),
        (lambda: positions.LearnedPositions(4, 4, std=-1), "std must be at least 0, got -1"),
        (
            lambda: positions.LearnedPositions(4, 2)(torch.ones(1, 5, 2)),
            "x must have at most max_positions = 4 tokens, got 5",
        ),
        (
            lambda: positions.LearnedPositions(4, 2)(torch.ones(3, 3)),
            r"x must have shape \(..., n, 2\), got \(3, 3\)",
        ),
        (lambda: positions.RelativeBias(0, 2), "n_heads must be at least 1, got 0"),
        (lambda: positions.RelativeBias(1, -1), "reach must be at least 0, got -1"),
        (lambda: positions.RelativeBias(1, 1)(-1), "n_q must be at least 0, got -1"),
        (lambda: positions.RelativeBias(1, 1)(3, 2), "n_k must be at least n_q = 3, got 2"),
        (lambda: positions.alibi(0, 2), "n_heads must be at least 1, got 0"),
        (lambda: positions.alibi(1, 3, 2), "n_k must be at least n_q = 3, got 2"),
        (
            lambda: positions.rotary(torch.ones(2, 4), torch.arange(3)),
            r"positions must be \(n,\) or have the dimensions of the tokens, \(2,\); got \(3,\)",
        ),
        (
            lambda: positions.rotary(torch.ones(2, 4), layout="pairs"),
            "layout must be 'interleaved' or 'halves', got 'pairs'",
        ),
        (lambda: positions.RotaryPositions(layout="pairs"), "layout must be .*, got 'pairs'"),
        (lambda: positions.RotaryPositions(width=3), "width must be even and at least 2, got 3"),
        (
            lambda: positions.RotaryPositions(width=6)(torch.ones(2, 4), torch.ones(2, 4)),
            "width must be at most d = 4, got 6",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("batch", [2, 3])
def test_positions_of_a_batch_are_never_read_as_those_of_heads(batch):
    torch.manual_seed(0)
    x, places = torch.randn(batch, 2, 5, 8), torch.randint(50, (batch, 5))
    with pytest.raises(ValueError, match=r"\(\d, 2, 5\); got \(\d, 5\); write positions\[:, None\]"):
        positions.rotary(x, places)
    with pytest.raises(ValueError, match=r"write positions\[:, None\]"):
        positions.RotaryPositions()(x, x, places)
    got = positions.rotary(x, places[:, None])
    for row in range(batch):
        assert torch.allclose(got[row], positions.rotary(x[row], places[row]))
    assert torch.allclose(positions.rotary(x[:, 0], places), got[:, 0])


def test_positions_never_give_the_tokens_another_shape():
    for shape, places in (
        ((1, 5, 8), (3, 5)),
        ((5, 8), (1, 5)),
        ((2, 5, 8), (3, 5)),
        ((2, 4, 5, 8), (2, 3, 5)),
    ):
        with pytest.raises(ValueError, match="positions must be"):
            positions.rotary(torch.zeros(shape), torch.zeros(places))
    with pytest.raises(ValueError, match="positions must be"):  # one row a query head, but fewer key heads
        positions.RotaryPositions()(torch.zeros(1, 4, 3, 8), torch.zeros(1, 2, 3, 8), torch.zeros(1, 4, 3))


def test_sinusoidal_at_any_place_is_the_row_of_the_table():
    table = positions.sinusoidal(9, 6, base=50.0)
    places = torch.tensor([[3, 0, 8], [1, 1, 2]])
    assert torch.equal(positions.sinusoidal_at(places, 6, base=50.0), table[places])
    between = positions.sinusoidal_at(torch.tensor([-1.5]), 2)
    assert torch.allclose(between, torch.tensor([[math.sin(-1.5), math.cos(-1.5)]]))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_table_has_the_dtype_that_is_asked_for(dtype):
    table = positions.sinusoidal(3, 4, dtype=dtype)
    assert table.dtype == positions.sinusoidal_at(torch.arange(3), 4, dtype=dtype).dtype == dtype
    assert torch.allclose(table.double(), positions.sinusoidal(3, 4).double(), atol=1e-2)
    for module in (positions.LearnedPositions(3, 4, dtype=dtype), positions.RelativeBias(2, 3, dtype=dtype)):
        assert module.weight.dtype == dtype


@pytest.mark.parametrize("base", [0, -1.0, math.inf, math.nan])
def test_a_base_that_gives_no_angle_is_refused(base):
    for make in (
        lambda: positions.sinusoidal(3, 4, base=base),
        lambda: positions.rotary(torch.ones(3, 4), base=base),
        lambda: positions.rotation(1, 4, base=base),
        lambda: positions.RotaryPositions(base=base),
    ):
        with pytest.raises(ValueError, match="base must be positive and finite, got"):
            make()


@pytest.mark.parametrize("width", [4, 8])
def test_a_part_of_the_entries_is_turned_with_the_base_that_was_asked_for(width):
    torch.manual_seed(0)
    q, k = torch.randn(1, 2, 5, 8), torch.randn(1, 1, 5, 8)
    turn = positions.RotaryPositions(base=500_000.0, layout="halves", width=width)
    for got, x in zip(turn(q, k), (q, k), strict=True):
        turned = positions.rotary(x[..., :width], base=500_000.0, layout="halves")
        assert torch.equal(got, torch.cat((turned, x[..., width:]), -1))

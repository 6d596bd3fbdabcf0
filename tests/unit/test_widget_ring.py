"""Attention on several devices in steps: counts of pairs, waiting and bytes, and the page's table of them."""

import itertools

import pytest
import torch

from attnbook.widgets import DevicesInSteps
from attnlab import grouped_attention
from attnlab.distributed import Split, all_to_all_bytes, merge, partial_attention, ring_bytes

SHAPE = {"n_kv_heads": 2, "d_head": 64, "bytes_per_number": 2}


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("scheme", ["contiguous", "zigzag", "all-to-all"])
def test_every_seen_pair_is_computed_once_and_bytes_are_those_of_the_library(scheme, causal):
    for n, p in itertools.product((8, 13, 16, 32), (2, 3, 4, 8)):
        figure = DevicesInSteps(n, p, scheme, causal=causal, step=1)
        steps = figure.steps()
        work = sum(turn.pairs * turn.heads for turns in steps for turn in turns)
        assert work == 8 * sum(j <= i or not causal for i in range(n) for j in range(n))
        if scheme == "all-to-all":
            want = [all_to_all_bytes(Split(n, p), rank, n_heads=8, **SHAPE) for rank in range(p)]
        else:
            want = [ring_bytes(Split(n, p, scheme), rank, **SHAPE) for rank in range(p)]
        assert figure.sent() == want
        time = sum(max(turn.pairs * turn.heads for turn in turns) for turns in steps) / 8
        assert [a + b for a, b in zip(figure.computes(), figure.waits(), strict=True)] == [time] * p


def test_what_is_merged_in_its_steps_is_attention():
    """The steps say whose keys a device has: with these, and no others, partial results come to the whole."""
    torch.manual_seed(0)
    q, (k, v) = torch.randn(1, 8, 13, 4), torch.randn(2, 1, 2, 13, 4)
    whole = grouped_attention(q, k, v, is_causal=True)
    for scheme in ("contiguous", "zigzag"):
        figure, outs = DevicesInSteps(13, 4, scheme), []
        for rank in range(4):
            mine, parts = figure.split.positions(rank), []
            for turns in figure.steps():
                keys = torch.tensor(turns[rank].keys)
                seen = keys <= mine[:, None]
                assert int(seen.sum()) == turns[rank].pairs
                parts.append(partial_attention(q[:, :, mine], k[:, :, keys], v[:, :, keys], mask=seen))
            outs.append(merge(*zip(*parts, strict=True))[0])
        assert torch.allclose(figure.split.join(outs), whole, atol=1e-5)


def test_blocks_of_equal_length_leave_zigzag_without_waiting():
    for p in (2, 4, 8):
        n = 32
        c = n // p
        own = [c * c * rank + c * (c + 1) // 2 for rank in range(p)]  # whole blocks before it, and its own
        assert DevicesInSteps(n, p).computes() == own
        assert DevicesInSteps(n, p).waits() == [own[-1] - one for one in own]
        assert DevicesInSteps(n, p, "zigzag").waits() == DevicesInSteps(n, p, "all-to-all").waits() == [0] * p


def test_its_table_word_for_word():
    rows = DevicesInSteps(8, 2).table()
    cells = ["0", "0–3", "keys 0–3: 10 pairs", "keys 4–7: waits", "10", "16 (62 %)", "2,048 B"]
    assert "".join(f"<td>{cell}</td>" for cell in cells[1:]) in rows
    assert f'<th scope="row">{cells[0]}</th>' in rows
    exchanged = DevicesInSteps(8, 3, "all-to-all").table()
    for cell in ("36 pairs in 2 heads", "36 pairs in 3 heads", "4.5 (33 %)", "13.5"):
        assert f"<td>{cell}</td>" in exchanged
    one = DevicesInSteps(8, 8).table()
    assert "<td>keys 3: 1 pair</td>" in one


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": 7}, "tokens must be from 8 to 32, got 7"),
        ({"devices": 9}, "devices must be from 2 to 8, got 9"),
        ({"scheme": "striped"}, "scheme must be one of contiguous, zigzag, all-to-all, got 'striped'"),
        ({"step": 5}, "step must be from 1 to 4, got 5"),
        ({"scheme": "all-to-all", "step": 4}, "step must be from 1 to 3, got 4"),
    ],
)
def test_bad_input_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        DevicesInSteps(**changes)

"""A model of time, held to times that were made up by it, to arithmetic by hand, and to what was measured."""

from dataclasses import replace

import pytest

from attnbook import results
from attnbook.experiments import devices
from attnbook.experiments.devices import Accelerator, Costs, counts, fit, layer
from attnlab.transformer.shapes import PUBLISHED

SLOW = Accelerator("slow", rate=1000.0, near=8.0, far=2.0, island=4)
SMALL = replace(PUBLISHED["Llama 3 8B"], n_heads=8, n_kv_heads=2, d_head=4)


def run(messages, sent, scores, seconds, scheme="ring", world=2):
    forward = {"messages": [messages, 0], "sent": [0, sent], "scores": [scores, 1], "seconds": [0.0, seconds]}
    return {"scheme": scheme, "world": world, "forward": forward}


def test_costs_that_made_the_times_are_found():
    true = Costs(message=0.5, byte=0.25, pair=0.125)
    made = [(1, 8, 40), (3, 2, 10), (2, 64, 5), (7, 1, 1)]
    runs = [run(m, b, s, 0.5 * m + 0.25 * b + 0.125 * 8 * s) for m, b, s in made]
    assert fit(runs, 8) == pytest.approx(true)
    assert [true.seconds(counts(one, 8)) for one in runs] == [devices.took(one) for one in runs]


def test_a_process_has_its_share_of_heads_where_all_send_to_all():
    assert counts(run(1, 2, 30, 1.0, scheme="all to all", world=4), 8) == (1, 2, 60)
    assert counts(run(1, 2, 30, 1.0, scheme="zigzag", world=4), 8) == (1, 2, 240)


def test_too_few_runs_and_costs_below_nothing_are_refused():
    with pytest.raises(ValueError, match="at least three runs, got 2"):
        fit([run(1, 2, 3, 1.0)] * 2, 8)
    with pytest.raises(ValueError, match="negative cost"):
        fit([run(1, 1, 1, 5.0), run(2, 1, 1, 4.0), run(1, 2, 1, 5.0), run(1, 1, 2, 50.0)], 8)


def test_seconds_of_a_layer_by_hand():
    # 16 tokens: 136 pairs of 8 heads, 16 operations each; 4352 a device.
    computing = 4 * 4 * 8 * 136 / 4 / 1000
    # The ring passes on 3 times 4 tokens, each 2 heads, keys and values, of 4 numbers of 2 bytes: 384 bytes.
    assert layer("ring", 16, 4, SLOW, SMALL) == pytest.approx(
        (computing / 4 + 384 / 8, computing + 2 * 384 / 8)
    )
    # Each keeps a quarter of its 4 tokens' heads: 3/4 of 8 + 8 (queries, output) + 4 + 4 heads, 2 doubled.
    sent = 3 / 4 * 4 * (8 + 8 + 4 + 4) * 4 * 2
    assert layer("all to all", 16, 4, SLOW, SMALL) == pytest.approx(
        (computing + sent / 8, computing + sent / 4)
    )


def test_arithmetic_hides_what_it_outlasts():
    fast = Accelerator("fast links", rate=1.0, near=1e9, far=1e9, island=4)
    found = layer("ring", 16, 4, fast, SMALL)
    assert found.least == pytest.approx(4 * 4 * 8 * 136 / 4)
    assert found.most == pytest.approx(found.least, rel=1e-4)


def test_links_between_islands_are_slow_for_a_ring_whole_and_for_an_exchange_in_part():
    assert SLOW.sending(16, 8, around=True) == 16 / 2
    assert SLOW.sending(14, 8, around=False) == 8 / 2  # 4 of 7 are elsewhere
    assert SLOW.sending(14, 4, around=False) == SLOW.sending(14, 4, around=True) == 14 / 8


def test_more_devices_than_heads_leave_the_ring_alone():
    assert layer("all to all", 64, 16, SLOW, SMALL) is None
    assert layer("ring", 64, 16, SLOW, SMALL) is not None


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="scheme must be one of ring, all to all; got 'tree'"):
        layer("tree", 16, 4, SLOW, SMALL)
    with pytest.raises(ValueError, match="devices must be at least 1, got 0"):
        layer("ring", 16, 0, SLOW, SMALL)


def test_costs_of_up_to_four_processes_foretell_eight():
    stored = results.load("distributed")
    heads = stored["shape"]["heads"]
    costs = fit([one for one in stored["runs"] if one["world"] < 8], heads)
    ratios = [costs.seconds(counts(one, heads)) / devices.took(one) for one in stored["runs"]]
    eight = sorted(max(r, 1 / r) for r, one in zip(ratios, stored["runs"], strict=True) if one["world"] == 8)
    assert len(eight) == 18
    assert eight[9] < 1.5
    assert eight[-1] < 2

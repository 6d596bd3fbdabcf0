"""A model of time, held to arithmetic by hand."""

from dataclasses import replace

import pytest

from attnbook.experiments.devices import Accelerator, layer
from attnlab.transformer.shapes import PUBLISHED

SLOW = Accelerator("slow", rate=1000.0, near=8.0, far=2.0, island=4)
SMALL = replace(PUBLISHED["Llama 3 8B"], n_heads=8, n_kv_heads=2, d_head=4)


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

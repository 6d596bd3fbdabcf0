"""The decoder in the page: every pass, rule and draft against what Python computes."""

from itertools import chain

import pytest

from attnlab.widgets import Decoding

from .reader import (
    SIDEWAYS,
    assert_fits_a_thumb,
    choose,
    copied,
    figure,
    number,
    press,
    run_copied,
    saved,
    says,
    static,
    table,
    violations,
)

SEED = 2216
ALL = """(part) => [...part.querySelectorAll("table")].map((table) =>
  [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"""

OUTSIDE = """(svg) => {
  const box = svg.getBoundingClientRect();
  const out = ({ left, right }) => left < box.left - 1 || right > box.right + 1;
  const texts = [...svg.querySelectorAll("text")];
  return texts.filter((text) => out(text.getBoundingClientRect())).map((text) => text.textContent);
}"""


@pytest.fixture(scope="module")
def page_file(page_with):
    return page_with(Decoding(seed=SEED)._repr_html_())


@pytest.fixture
def part(site, page_file):
    return figure(site.figures(page_file), "decoder")


def assert_shows(part, *given, **state):
    expected = Decoding(*given, **({"seed": SEED} | state))
    got, want = part.evaluate(ALL), static(expected.table())
    assert [len(rows) for rows in got] == [len(rows) for rows in want]
    for ours, theirs in zip(chain(*got), chain(*want), strict=True):
        for cell, wanted in zip(ours, theirs, strict=True):
            if "." in wanted:
                assert number(cell) == pytest.approx(number(wanted), abs=1.1e-4)
            else:
                assert cell == wanted
    line = " ".join(["<start>", *expected.text.split(), *expected.written])
    assert part.locator('[data-part="written"]').inner_text().strip() == line
    rows = part.locator('[data-part="cache"] [data-row]')
    dropped = part.locator('[data-part="cache"] [data-row="dropped"]')
    step = expected.step()
    assert rows.count() == len(expected.text.split()) + 1 + len(step.drafted)
    assert dropped.count() == len(step.drafted) - step.kept
    at = part.locator("[data-drawn]")
    assert at.get_attribute("data-drawn") == expected.written[expected.place]
    assert part.locator('[data-part="error"]').is_hidden()
    return expected


def press_next(part, times=1):
    for _ in range(times):
        part.locator('[data-part="next"]').click()


def test_word_by_word_to_the_end_and_again(part):
    text, passes = [], []
    while True:
        now = assert_shows(part, " ".join(text), passes)
        new = part.locator('[data-part="cache"] [data-row="new"]')
        assert new.all_text_contents() == [["<start>", *text][-1]]
        if "<end>" in now.written:
            break
        text, passes = text + now.written, [*passes, 1]
        press_next(part)
    assert " ".join(text) == "I can saw a saw"
    assert "6 passes, 6 words" in says(part)
    assert part.locator('[data-part="next"]').inner_text() == "Start again"
    press_next(part)
    assert_shows(part, seed=SEED + 1)


def test_a_draft_writes_several_words_in_one_pass(part):
    choose(part, "draft", "3")
    assert_shows(part, draft=3)
    assert "3 drafted, 2 kept, 3 written" in says(part)
    choose(part, "place", "2")
    assert_shows(part, draft=3, place=2)
    press_next(part)
    assert_shows(part, "I can left", [3], draft=3)
    assert "2 passes, 6 words" in says(part)
    # The bars of a place are as long with a draft as without.
    lengths = part.locator('[data-part="numbers"] td:nth-child(3)').all_inner_texts()
    choose(part, "draft", "0")
    assert part.locator('[data-part="numbers"] td:nth-child(3)').all_inner_texts() == lengths
    assert part.locator('[data-part="checked"]').count() == 0


def test_every_rule_cuts_as_in_python(part):
    press_next(part)
    press(part, "temperature", *["ArrowRight"] * 5)
    assert_shows(part, "I", [1], temperature=1.5)
    for rule, keys, limit in (("top_k", ["ArrowRight"], 4), ("top_p", ["Home"], 0.05), ("min_p", [], 0.5)):
        choose(part, "rule", rule)
        press(part, rule, *keys)
        shown = assert_shows(part, "I", [1], temperature=1.5, rule=rule, **{rule: limit})
        cut = part.locator('[data-part="words"] text', has_text="cut").count()
        assert cut == 11 - min(len(shown.kept), 10)
        assert f"from {len(shown.kept)} of 19 words" in says(part)
    choose(part, "rule", "greedy")
    assert_shows(part, "I", [1], rule="greedy")
    assert part.locator('[data-part="temperature"]').is_hidden()
    part.locator('[data-part="again"]').click()
    assert_shows(part, "I", [1], rule="greedy", seed=SEED + 1)


def test_shared_heads_make_the_cache_narrow(part):
    press_next(part, 2)
    for heads in (2, 1, 4):
        choose(part, "heads", str(heads))
        assert_shows(part, "I can", [1, 1], heads=heads)
        drawn = part.locator('[data-part="cache"] path[fill-opacity]').evaluate_all(
            "(paths) => paths.map((path) => path.getAttribute('d')).join('').split('M').length - 1"
        )
        assert drawn == 3 * 2 * 2 * heads * 8  # words, layers, keys and values, heads, numbers
        note = part.get_by_text("not trained further")
        assert note.is_visible() == (heads < 4)
        assert f"{3 * 256 * heads // 4} bytes" in says(part)


def test_copied_code_prints_the_same_words(part):
    choose(part, "draft", "2")
    choose(part, "rule", "top_k")
    shown, _ = run_copied(part)
    kept = [line.split() for line in shown.splitlines()]
    want = Decoding(draft=2, rule="top_k", seed=SEED)
    assert [line[0] for line in kept[: len(want.kept)]] == want.kept
    rows = {row[0]: float(row[2]) for row in table(part)}
    for word, share in kept[: len(want.kept)]:
        assert float(share) == pytest.approx(rows[word], abs=2e-4)
    assert kept[-1][:2] == ["kept", "with"]


def test_a_link_brings_back_the_state_and_no_weights(part):
    press_next(part, 2)
    choose(part, "draft", "4")
    choose(part, "heads", "2")
    address = copied(part, "link")
    assert len(address) < 500
    part.page.goto(address)
    assert_shows(figure(part.page, "decoder"), "I can", [1, 1], draft=4, heads=2)


def test_a_link_that_does_not_fit_is_refused_in_words(site, page_file):
    assert "got Anna" in site.complaint(page_file, "decoder", {"text": "I saw Anna"})
    assert "heads must be 4, 2 or 1" in site.complaint(page_file, "decoder", {"heads": 3})


def test_the_saved_drawing_has_cache_and_words(part):
    drawing = saved(part)
    assert "layer 2" in drawing
    assert "others" in drawing


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, page_file, theme):
    page = site.figures(page_file, theme=theme)
    part = figure(page, "decoder")
    choose(part, "draft", "3")
    choose(part, "rule", "top_k")
    choose(part, "heads", "1")
    assert violations(page) == []


def test_a_phone_does_not_scroll_sideways_and_letters_keep_their_size(site, page_file):
    page = site.figures(page_file, width=320, height=640)
    part = figure(page, "decoder")
    choose(part, "draft", "4")
    choose(part, "rule", "min_p")
    assert page.evaluate(SIDEWAYS) == []
    assert_fits_a_thumb(part)
    for name in ("cache", "words"):
        drawing = part.locator(f'[data-part="{name}"]')
        scale = drawing.evaluate("(svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width")
        assert scale == pytest.approx(1, abs=0.02)
        outside = drawing.evaluate(OUTSIDE)
        assert outside == []

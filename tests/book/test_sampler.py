"""The sampler in the page: every rule, temperature and draw against what Python computes."""

import pytest

from attnbook.widgets import Sampling
from attnbook.widgets.decoder import words
from attnbook.widgets.dice import uniforms

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

SEED = 5
BARS = """(bars) => bars.map((e) => [
  e.dataset.word, e.dataset.kept === "true", Number(e.getAttribute("height"))])"""
PIECES = """(pieces) => pieces.map((e) => [
  e.dataset.word, Number(e.getAttribute("x")), Number(e.getAttribute("width"))])"""

THREAD = """(svg, word) => {
  const line = svg.querySelector('[data-part="thread"]');
  const along = (at) => line.getPointAtLength(at).x;
  const middle = (e) => { const box = e.getBBox(); return box.x + box.width / 2; };
  return [along(0) - middle(svg.querySelector(`[data-part="bar"][data-word="${word}"]`)),
    along(line.getTotalLength()) - middle(svg.querySelector('[data-part="pin"] path'))];
}"""


@pytest.fixture(scope="module")
def page_file(page_with):
    return page_with(Sampling("I", seed=SEED)._repr_html_())


@pytest.fixture
def part(site, page_file):
    return figure(site.figures(page_file), "sampler")


def assert_shows(part, text="I", **state):
    """Hold table, text, bars and the strip below them to Python's numbers."""
    expected = Sampling(text, **({"seed": SEED} | state))
    (want,) = static(expected.table())
    got = table(part)
    assert [(row[0], row[3]) for row in got] == [(row[0], row[3]) for row in want]
    for ours, theirs in zip(got, want, strict=True):
        for at in (1, 2):
            assert number(ours[at]) == pytest.approx(number(theirs[at]), abs=1.1e-4)
    line = " ".join(["<start>", *text.split(), expected.drawn])
    assert part.locator('[data-part="written"]').inner_text().strip() == line
    bars = part.locator('[data-part="bar"]').evaluate_all(BARS)
    assert {word for word, kept, _ in bars if kept} == set(expected.kept)
    p = {row[0]: number(row[2]) for row in want}
    pieces = part.locator('[data-part="piece"]').evaluate_all(PIECES)
    assert [word for word, _, _ in pieces] == [word for word in words() if word in expected.kept]
    wide = part.locator('[data-part="words"]').evaluate("(svg) => svg.viewBox.baseVal.width")
    for word, _, width in pieces:
        assert width == pytest.approx(max(p[word] * wide - 1, 0.3), abs=0.1)
    pin = part.locator('[data-part="pin"]').get_attribute("data-value")
    at = 3 * len(text.split())  # a place has three numbers of its own
    assert float(pin) == pytest.approx(float(uniforms(expected.seed, 1, at)), abs=6e-5)
    if expected.rule != "greedy":  # nothing is drawn there; the pin stands on the one word
        assert [word for word, x, _ in pieces if x <= float(pin) * wide + 0.05][-1] == expected.drawn
    bar, to = part.locator('[data-part="words"]').evaluate(THREAD, expected.drawn)
    assert bar == pytest.approx(0, abs=0.6)  # the line goes from the drawn word's bar ...
    assert to == pytest.approx(0, abs=0.6)  # ... to the number
    assert part.locator('[data-part="error"]').is_hidden()
    return expected


def test_it_starts_with_all_words_and_is_low(site, page_file):
    page = site.open(page_file)
    part = figure(page, "sampler")
    assert_shows(part)
    assert says(part) == "“can” is drawn, 28 %, from 19 of 19 words."
    assert part.locator('[data-part="line"]').count() == 0
    choose(part, "rule", "min_p")
    assert part.locator(".attnlab-root").bounding_box()["height"] <= 520


def test_every_rule_cuts_as_in_python(part):
    press(part, "temperature", *["ArrowRight"] * 5)
    assert_shows(part, temperature=1.5)
    for rule, keys, limit in (("top_k", ["ArrowRight"], 6), ("top_p", ["Home"], 0.05), ("min_p", [], 0.2)):
        choose(part, "rule", rule)
        press(part, rule, *keys)
        shown = assert_shows(part, temperature=1.5, rule=rule, **{rule: limit})
        assert f"from {len(shown.kept)} of 19 words" in says(part)
        lines = part.locator('[data-part="line"]')
        colours = lines.evaluate_all("(all) => all.map((e) => e.getAttribute('stroke'))")
        assert colours == ["var(--fig-ink)"]  # a limit is no key
    choose(part, "rule", "greedy")
    assert_shows(part, rule="greedy")
    assert part.locator('[data-part="temperature"]').is_hidden()


def test_a_temperature_moves_the_bars_and_not_the_axis(part):
    """Bars are as high as the root of what they stand for, cold and hot; the axis ends at certainty."""
    ticks = part.locator('[data-part="tick"]')
    assert ticks.all_text_contents() == ["0 %", "1 %", "10 %", "25 %", "50 %", "100 %"]
    assert "square-root scale" in part.locator('[data-part="words"]').text_content()
    for keys, temperature in ((["Home"], 0.1), (["PageUp"] * 10, None)):
        press(part, "temperature", *keys)
        temperature = temperature or float(part.locator('[data-part="temperature"]').input_value())
        shown = Sampling("I", temperature=temperature)
        p = dict(zip(shown.kept, shown.step().p[0].sort(descending=True).values.tolist(), strict=True))
        for word, kept, height in part.locator('[data-part="bar"]').evaluate_all(BARS):
            assert kept
            assert height == pytest.approx(168 * p[word] ** 0.5, abs=0.02)
        places = ticks.evaluate_all("(all) => all.map((e) => Number(e.getAttribute('y')) - 4)")
        assert places == pytest.approx([188 - 168 * x**0.5 for x in (0, 0.01, 0.1, 0.25, 0.5, 1)])


def test_hot_slips_come_in_under_top_p_and_not_under_min_p(part):
    """What the chapter's box asks: seven words are possible after "I"."""
    possible = {"can", "saw", "will", "duck", "watch", "fish", "left"}
    press(part, "temperature", "End")
    kept = {}
    for rule in ("top_k", "top_p", "min_p"):
        choose(part, "rule", rule)
        kept[rule] = set(assert_shows(part, rule=rule, temperature=3.0).kept)
    assert len(kept["top_k"]) == 5
    assert kept["top_k"] < possible
    assert len(kept["top_p"]) == 9
    assert kept["top_p"] > possible
    assert kept["min_p"] == possible
    for tenth in range(10, 31):
        assert set(Sampling("I", rule="min_p", temperature=tenth / 10).kept) == possible


def test_word_by_word_to_the_end_and_again(part):
    text = ["I"]
    for _ in range(12):
        drawn = assert_shows(part, " ".join(text)).drawn
        if drawn == "<end>":
            break
        text.append(drawn)
        part.locator('[data-part="next"]').click()
    assert " ".join(text) == "I can saw the watch"
    assert part.locator('[data-part="next"]').inner_text() == "Start again"
    part.locator('[data-part="next"]').click()
    assert_shows(part, "", seed=SEED + 1)
    part.locator('[data-part="again"]').click()
    assert_shows(part, "", seed=SEED + 2)
    part.locator('[data-part="reset"]').click()
    assert_shows(part)
    part.locator('.attnlab-bar [data-part="undo"]').click()
    assert_shows(part, "", seed=SEED + 2)


def test_the_line_names_the_first_slip_and_no_later_one(part):
    slip = "A slip: the grammar doesn’t allow it here."
    press(part, "temperature", "End")
    said = []
    for _ in range(5):
        said.append(says(part))
        part.locator('[data-part="next"]').click()
    assert part.locator('[data-part="written"]').inner_text().startswith("<start> I duck the saw the me")
    assert [line.endswith(slip) for line in said] == [False, False, False, True, False]
    assert said[3].startswith("“the” is drawn")


def test_the_pin_falls_unless_motion_is_unwanted(site, page_file):
    page = site.open(page_file)
    part, count = figure(page, "sampler"), "document.getAnimations().length"
    part.locator('[data-part="again"]').click()
    assert page.evaluate(count) == 0
    page.emulate_media(reduced_motion="no-preference")
    found = page.evaluate(
        f"""() => {{ document.querySelector('[data-part="again"]').click(); return {count}; }}"""
    )
    choose(part, "rule", "all")
    bars = """() => { document.querySelector('[data-value="top_k"]').click();
      return document.getAnimations().flatMap((one) =>
        one.effect.target.dataset.part === "piece" ? one.transitionProperty : []); }"""
    moving = page.evaluate(bars)
    page.emulate_media(reduced_motion="reduce")
    assert found >= 1
    assert {"x", "width", "opacity"} <= set(moving)  # pieces that stay grow, the others go


def test_copied_code_prints_the_same_words(part):
    choose(part, "rule", "top_k")
    shown, _ = run_copied(part)
    *lines, last = shown.splitlines()
    want = Sampling("I", rule="top_k")
    assert [line.split()[0] for line in lines] == want.kept
    rows = {row[0]: float(row[2]) for row in table(part)}
    for word, share in map(str.split, lines):
        assert float(share) == pytest.approx(rows[word], abs=2e-4)
    assert last.removeprefix("drawn: ") in want.kept


def test_a_link_brings_back_the_state_and_no_weights(part):
    part.locator('[data-part="next"]').click()
    choose(part, "rule", "top_p")
    press(part, "temperature", "ArrowLeft")
    address = copied(part, "link")
    assert len(address) < 500
    part.page.goto(address)
    assert_shows(figure(part.page, "sampler"), "I can", rule="top_p", temperature=0.9)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"text": "I saw Anna"}, "got Anna"),
        ({"text": "I " * 12}, "at most 11 words, got 12"),
        ({"rule": "best"}, "rule must be one of all, greedy, top_k, top_p, min_p, got best"),
        ({"temperature": -1}, "must be numbers of 0 or more"),
    ],
)
def test_a_link_that_does_not_fit_is_refused_in_words(site, page_file, state, message):
    assert message in site.complaint(page_file, "sampler", state)


def test_the_saved_drawing_has_words_and_the_rule(part):
    choose(part, "rule", "min_p")
    drawing = saved(part)
    assert "20 % of the best" in drawing
    assert ">watch</text>" in drawing


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, page_file, theme):
    page = site.figures(page_file, theme=theme)
    part = figure(page, "sampler")
    choose(part, "rule", "top_k")
    part.locator("details:not(.attnlab-menu) > summary").click()
    assert violations(page) == []


def test_a_phone_does_not_scroll_sideways_and_letters_keep_their_size(site, page_file):
    page = site.figures(page_file, width=320, height=640)
    part = figure(page, "sampler")
    likely = [word for word in words() if word in assert_shows(part).kept[:7]]
    names = part.locator('[data-part="words"] > [data-part="piece"] + text').all_text_contents()
    assert names == likely  # on end where the piece is narrow
    choose(part, "rule", "min_p")
    assert page.evaluate(SIDEWAYS) == []
    assert_fits_a_thumb(part)
    chart = part.locator('[data-part="words"]')
    scale = chart.evaluate("(svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width")
    assert scale == pytest.approx(1, abs=0.02)
    assert part.locator(".attnlab-root").bounding_box()["height"] <= 720

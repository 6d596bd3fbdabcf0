"""The decoder in the page: every pass, draft and cache against what Python computes."""

from itertools import chain

import pytest

from attnbook.widgets import Decoding

from .reader import (
    SIDEWAYS,
    assert_fits_a_thumb,
    choose,
    copied,
    figure,
    number,
    run_copied,
    saved,
    says,
    static,
    table,
    violations,
)

SEED = 430
PROMPT = "the old dog"
ALL = """(part) => [...part.querySelectorAll("table")].map((table) =>
  [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"""
OUTSIDE = """(svg) => {
  const box = svg.getBoundingClientRect();
  const out = ({ left, right }) => left < box.left - 1 || right > box.right + 1;
  const texts = [...svg.querySelectorAll("text")];
  return texts.filter((text) => out(text.getBoundingClientRect())).map((text) => text.textContent);
}"""
CELLS = "(all) => all.map((e) => e.getAttribute('d')).join('').split('M').length - 1"
PASSES = """(all) => all.map((e) => [e.dataset.name, Number(e.dataset.from), Number(e.dataset.to)])"""
FATES = """(all) => all.map((e) => [e.textContent, e.dataset.fate])"""
READS = (
    """(all) => all.map((e) => [e.dataset.reads, Number(e.dataset.among), Number(e.getAttribute("width"))])"""
)


@pytest.fixture(scope="module")
def page_file(page_with):
    return page_with(Decoding(PROMPT, seed=SEED)._repr_html_())


@pytest.fixture
def part(site, page_file):
    return figure(site.figures(page_file), "decoder")


def assert_shows(part, text=PROMPT, passes=(), **state):
    """Hold tables, lanes and bars to Python's numbers."""
    expected = Decoding(text, passes, **({"seed": SEED} | state))
    got, want = part.evaluate(ALL), static(expected.table())
    assert [len(rows) for rows in got] == [len(rows) for rows in want]
    for ours, theirs in zip(chain(*got), chain(*want), strict=True):
        for cell, wanted in zip(ours, theirs, strict=True):
            if "." in wanted:
                assert number(cell) == pytest.approx(number(wanted), abs=1.1e-4)
            else:
                assert cell == wanted
    step, n = expected.step(), len(text.split()) + 1
    assert lane(part, "old-word") == ["<start>", *text.split()]
    assert lane(part, "new-word") == expected.written
    fates = part.locator('[data-part="draft-word"]').evaluate_all(FATES)
    became = ["kept"] * step.kept + ["refused"] + ["dropped"] * 4
    assert fates == [[word, fate] for word, fate in zip(expected.drafted, became, strict=False)]
    # A draft is no query: what is of it is ink.
    inked = ['[data-part="draft-word"][data-fate="kept"]', '[data-reads="draft"]']
    fills = part.locator(", ".join(inked)).evaluate_all("(all) => all.map((e) => e.getAttribute('fill'))")
    assert set(fills) <= {"var(--fig-ink)"}
    # A column of the cache for each word read, of all heads, layers, keys and values.
    rows = n + len(step.drafted)
    cells = part.locator('[data-part="kept-numbers"]').evaluate_all(CELLS)
    assert cells == rows * 2 * 2 * expected.heads * 8
    chances = part.locator("[data-keep]").evaluate_all("(all) => all.map((e) => Number(e.dataset.keep))")
    assert chances == pytest.approx(step.keep, abs=6e-5)
    for asked, chance, (_, fate) in zip(asks(part), step.keep, fates, strict=False):
        assert (asked < chance) == (fate == "kept")
    # The bars: each part as wide as its bytes, for the pass and for a word.
    bars = part.locator("[data-reads]").evaluate_all(READS)
    bars = bars[: len(bars) // 2], bars[len(bars) // 2 :]
    unit = sum(width for _, _, width in bars[0]) / sum(expected.reads.values())
    for among, parts in zip((1, len(step.words)), bars, strict=True):
        for kind, divided, width in parts:
            assert divided == among
            assert width == pytest.approx(unit * expected.reads[kind] / among, abs=0.02)
    # Dashed: what a word costs without a draft, and a pass where each head has keys and values of its own.
    ghosts = {
        "alone": ({"draft": 0, "place": 0}, "Draft 0", step.drafted),
        "unshared": ({"heads": 4}, "4 heads", expected.heads < 4),
    }
    for name, (change, called, drawn) in ghosts.items():
        ghost = part.locator(f'[data-part="{name}"]')
        assert ghost.count() == bool(drawn)
        if drawn:
            much = sum(Decoding(text, passes, **({"seed": SEED} | state | change)).reads.values())
            assert float(ghost.get_attribute("width")) == pytest.approx(unit * much, abs=0.02)
            assert part.get_by_text(f"{called}: {much / 1000:.1f}", exact=True).count() == 1
    # The cache in a measure of its own: of four heads as long as its columns, of one a quarter of that.
    kept = part.locator('[data-part="kept"]')
    line = part.locator('[data-part="pass"]').evaluate_all(
        "(all) => Math.max(...all.map((e) => e.getBBox().x + e.getBBox().width))"
    )
    start, long = float(kept.get_attribute("x")), float(kept.get_attribute("width"))
    assert long == pytest.approx((line - start) * expected.heads / 4, abs=0.1)
    assert part.locator('[data-part="error"]').is_hidden()
    return expected


def lane(part, name):
    return part.locator(f'[data-part="{name}"]').all_text_contents()


OVER = """(svg) => {
  const boxes = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBBox()]);
  const meet = (at, long) => (a, b) => a[at] < b[at] + b[long] - 4 && b[at] < a[at] + a[long] - 4;
  const [across, down] = [meet("x", "width"), meet("y", "height")];
  const met = (one, a) => boxes.filter(([two, b]) => one !== two && across(a, b) && down(a, b));
  const bytes = boxes.filter(([text]) => /KB|Draft 0|heads/.test(text));
  return bytes.flatMap(([one, a]) => met(one, a).map(([two]) => [one, two]));
}"""


@pytest.mark.parametrize("width", [1280, 560, 390, 320])
def test_numbers_of_bytes_stand_apart_whatever_is_kept(site, page_file, width):
    """Where little is kept, the bar of a word ends where that without a draft does, or beyond it."""
    part = figure(site.figures(page_file, width=width, height=800), "decoder")
    kept = set()
    for heads, draft in (("4", "3"), ("4", "1"), ("2", "4"), ("1", "3")):
        choose(part, "heads", heads)
        choose(part, "draft", draft)
        kept.add(assert_shows(part, heads=int(heads), draft=int(draft)).accepted)
        assert part.locator('[data-part="lanes"]').evaluate(OVER) == []
        assert part.locator('[data-part="lanes"]').evaluate(OUTSIDE) == []
    assert {0, 2} <= kept


def asks(part):
    return part.locator("[data-asked]").evaluate_all("(all) => all.map((e) => Number(e.dataset.asked))")


def passes_of(part):
    return part.locator('[data-part="pass"]').evaluate_all(PASSES)


def press_next(part, times=1):
    for _ in range(times):
        part.locator('[data-part="next"]').click()


def test_prefill_then_decode_to_the_end_and_again(part):
    assert passes_of(part) == [["prefill", 0, 4]]
    assert part.locator(".attnlab-root").bounding_box()["height"] <= 450
    # What counts is large: two bars, together nearly as high as all the numbers of the cache.
    cache, bar = (
        part.locator(one).first.bounding_box()["height"] for one in ('[data-part="now"]', "[data-reads]")
    )
    assert (bar, 2 * bar > 0.6 * cache) == (pytest.approx(26, abs=0.5), True)
    text, passes = PROMPT.split(), []
    while True:
        now = assert_shows(part, " ".join(text), passes)
        filled = [["prefill", 0, 4], *(["decode", 4 + i, 5 + i] for i in range(len(passes)))]
        assert sorted(passes_of(part), key=lambda one: one[1]) == filled
        if "<end>" in now.written:
            break
        text, passes = text + now.written, [*passes, 1]
        press_next(part)
    assert " ".join(text) == "the old dog fish the old duck"
    assert "5 passes, 5 words" in says(part)
    assert part.locator('[data-part="next"]').inner_text() == "Start again"
    press_next(part)
    assert_shows(part, seed=SEED + 1)
    part.locator('[data-part="again"]').click()
    assert_shows(part, seed=SEED + 2)


def test_without_a_draft_the_word_is_pointed_at_and_the_empty_cache_says_how_much_it_takes(part):
    for left in (8, 7):
        note = part.get_by_text("no draft: a pass writes one word").bounding_box()
        word = part.locator('[data-part="new-word"]').bounding_box()
        assert abs(note["x"] - word["x"]) < 30
        assert 0 < word["y"] - note["y"] < 40
        assert part.locator('[data-part="room"]').text_content() == f"room for {left} more words"
        part.locator('[data-part="next"]').click()


def test_a_draft_writes_several_words_in_one_pass(part):
    before = part.locator('[data-reads="weights"]').first.get_attribute("width")
    # What the dots in the boxes are is named where there are any.
    dots = part.get_by_text("a random number: kept if in the bar")
    assert dots.count() == 0
    choose(part, "draft", "3")
    assert dots.count() == 1
    shown = assert_shows(part, draft=3)
    assert (shown.drafted, shown.accepted) == (["will", "watch", "<end>"], 2)
    assert "3 drafted, 2 kept, 3 written" in says(part)
    assert passes_of(part) == [["prefill, verify", 0, 7]]
    # What the chapter's box asks: the pass reads little more, and a word far less.
    alone = sum(Decoding(PROMPT, seed=SEED).reads.values())
    assert 1.1 < sum(shown.reads.values()) / alone < 1.2
    after = part.locator('[data-reads="weights"]').first.get_attribute("width")
    assert float(after) == pytest.approx(float(before), rel=0.01)
    part.locator("details:not(.attnlab-menu) > summary").click()
    choose(part, "place", "2")
    assert_shows(part, draft=3, place=2)
    press_next(part)
    assert_shows(part, f"{PROMPT} will watch the", [3], draft=3)
    assert sorted(passes_of(part), key=lambda one: one[1]) == [["prefill", 0, 6], ["verify", 6, 9]]
    assert "2 passes, 5 words" in says(part)
    # The model's own probabilities at a place are the same with a draft as without.
    chances = part.locator('[data-part="numbers"] td:nth-child(2)').all_inner_texts()
    choose(part, "draft", "0")
    assert part.locator('[data-part="numbers"] td:nth-child(2)').all_inner_texts() == chances
    assert part.locator('[data-part="checked"]').count() == 0


def test_shared_heads_make_the_cache_small(part):
    press_next(part, 2)
    for heads in (2, 1, 4):
        choose(part, "heads", str(heads))
        expected = assert_shows(part, "the old dog fish the", [1, 1], heads=heads)
        assert expected.reads["cache"] == 6 * 256 * heads // 4
        height = part.locator('[data-part="now"]').get_attribute("height")
        assert float(height) == 4 * (4 * heads + 3) + 2  # four bands, 4 pixels for a head
        assert part.locator('[data-part="shrunk"]').count() == (heads < 4)
        assert part.get_by_text("not trained further").count() == (heads < 4)


def test_choices_by_keyboard_and_undo_after_reset(part):
    part.locator('[data-part="draft"] [data-value="0"]').focus()
    part.page.keyboard.press("ArrowRight")
    part.page.keyboard.press("ArrowRight")
    assert_shows(part, draft=2)
    part.locator('[data-part="next"]').press("Enter")
    shown = assert_shows(part, f"{PROMPT} will watch the", [3], draft=2)
    part.locator('[data-part="reset"]').click()
    assert_shows(part)
    part.locator('.attnlab-bar [data-part="undo"]').click()
    assert_shows(part, shown.text, shown.passes, draft=2)


def test_a_pass_is_seen_to_read_unless_motion_is_unwanted(site, page_file):
    page = site.open(page_file)
    figure(page, "decoder")
    run = """() => { document.querySelector('[data-part="next"]').click();
      return document.getAnimations().length; }"""
    assert page.evaluate(run) == 0
    page.emulate_media(reduced_motion="no-preference")
    found = page.evaluate(run)
    # Half way the frame is drawn, and what it goes over keeps its colours.
    frame = page.evaluate("""() => {
      for (const one of document.getAnimations()) { one.pause(); one.currentTime = 250; }
      const { fill, strokeOpacity } = getComputedStyle(document.querySelector("[data-sweep]"));
      return [fill, strokeOpacity]; }""")
    page.emulate_media(reduced_motion="reduce")
    assert found >= 3  # the frame over the cache, and the bars of bytes
    assert frame == ["none", "1"]


def test_copied_code_prints_the_same_words(part):
    choose(part, "draft", "2")
    choose(part, "heads", "2")
    shown, _ = run_copied(part)
    *lines, last = shown.splitlines()
    rows = {row[0]: float(row[1]) for row in table(part)}
    assert [line.split()[0] for line in lines] == list(rows)
    for word, share in map(str.split, lines):
        assert float(share) == pytest.approx(rows[word], abs=2e-4)
    both = sum(float(row[3]) for row in table(part))
    assert float(last.split("(")[1].rstrip(")")) == pytest.approx(both, abs=2e-3)


def test_a_link_brings_back_the_state_and_no_weights(part):
    press_next(part, 2)
    choose(part, "draft", "4")
    choose(part, "heads", "2")
    address = copied(part, "link")
    assert len(address) < 500
    part.page.goto(address)
    assert_shows(figure(part.page, "decoder"), "the old dog fish the", [1, 1], draft=4, heads=2)


def test_a_link_of_before_the_sampler_had_a_figure_of_its_own_opens(site, page_file):
    page = site.open(
        page_file,
        query='?decoder={"text":"I can","passes":[1,1],"rule":"top_p","temperature":1.5,"top_k":3,'
        '"top_p":0.6,"min_p":0.5,"draft":2,"heads":2,"place":0,"seed":2216}',
    )
    assert_shows(figure(page, "decoder"), "I can", [1, 1], draft=2, heads=2, seed=2216)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"text": "I saw Anna"}, "got Anna"),
        ({"heads": 3}, "heads must be 4, 2 or 1"),
        ({"draft": 5}, "draft must be from 0 to 4, got 5"),
        ({"passes": [9]}, "passes must write 1 word or more each, 3 at most in all, got 9"),
    ],
)
def test_a_link_that_does_not_fit_is_refused_in_words(site, page_file, state, message):
    assert message in site.complaint(page_file, "decoder", state)


def test_the_saved_drawing_has_the_lanes(part):
    choose(part, "draft", "1")
    drawing = saved(part)
    assert all(f">{name}</text>" in drawing for name in ("K, layer 1", "draft", "reads", "a word"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, page_file, theme):
    page = site.figures(page_file, theme=theme)
    part = figure(page, "decoder")
    choose(part, "draft", "3")
    choose(part, "heads", "1")
    part.locator("details:not(.attnlab-menu) > summary").click()
    assert violations(page) == []


def test_a_phone_does_not_scroll_sideways_and_letters_keep_their_size(site, page_file):
    page = site.figures(page_file, width=320, height=640)
    part = figure(page, "decoder")
    for heads in ("4", "1"):
        choose(part, "draft", "4")
        choose(part, "heads", heads)
        assert page.evaluate(SIDEWAYS) == []
        assert_fits_a_thumb(part)
        drawing = part.locator('[data-part="lanes"]')
        scale = drawing.evaluate("(svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width")
        assert scale == pytest.approx(1, abs=0.02)
        assert drawing.evaluate(OUTSIDE) == []
        assert part.locator(".attnlab-root").bounding_box()["height"] <= 720

"""The block in the page: every switch and every part against what Python computes."""

import pytest

from attnbook.tagging import shipped
from attnbook.widgets import Block

from .reader import assert_fits_a_thumb, copied, figure, run_copied, saved, says, table, violations


@pytest.fixture(scope="module")
def page_file(page_with):
    return page_with(Block("I saw a saw", word=3)._repr_html_())


@pytest.fixture
def part(site, page_file):
    return figure(site.figures(page_file), "block")


def assert_shows(part, **state):
    expected = Block(**({"sentence": "I saw a saw", "word": 3} | state))
    got = table(part)
    assert len(got) == len(expected.stages)
    for row, stage in zip(got, expected.stages, strict=True):
        chances = stage.probabilities[expected.word]
        assert row[:2] == [stage.part, "on" if stage.on else "off"]
        assert float(row[3]) == pytest.approx(chances.max().item(), abs=2e-4)
        if stage.part != "words":
            assert float(row[4]) == pytest.approx(stage.added[expected.word].item(), abs=2e-3)
    assert expected.tag in says(part)
    assert part.locator('[data-part="error"]').is_hidden()


def flip(part, name):
    """Switch one part of one layer, which stands behind its fold."""
    fold = part.locator('[data-part="layers"]')
    if fold.get_attribute("open") is None:
        fold.locator("summary").click()
    part.locator(f'[data-part="part"][data-name="{name}"]').click()


def switch(part, name):
    return part.locator(f'[data-part="switch"][data-name="{name}"]')


def odds(part) -> dict[str, float]:
    """Read the bars of the end: the tags with a row, from above, and what is left for the others."""
    rows = part.locator('[data-part="bars"] > div')
    return dict(rows.evaluate_all("(rows) => rows.map(({dataset: d}) => [d.tag, Number(d.probability)])"))


def assert_bars(part, **state):
    expected = Block(**({"sentence": "I saw a saw", "word": 3} | state))
    chances = expected.stages[-1].probabilities[expected.word]
    shown = odds(part)
    *named, others = shown
    assert len(named) == 5
    assert others == "12 others"
    wanted = [chances[shipped.load().tags.index(tag)].item() for tag in named]
    assert list(shown.values()) == pytest.approx([*wanted, 1 - sum(wanted)], abs=2e-4)
    assert expected.tag in named
    assert part.locator(".is-lead").get_attribute("data-tag") == expected.tag
    wide = part.locator('[data-part="bars"] .attnlab-mark').evaluate_all(
        "(bars) => bars.map((bar) => bar.getBoundingClientRect().width / bar.parentElement.clientWidth)"
    )
    assert wide == pytest.approx(list(shown.values()), abs=0.01)


def test_it_starts_as_python_says(part):
    assert_shows(part)
    assert_bars(part)
    part.locator('[data-part="stages"] > summary').click()
    for at, stage in enumerate(Block("I saw a saw", word=3).stages):
        cells = part.locator('[data-part="shares"]').nth(at).locator("span")
        chances = cells.evaluate_all("(cells) => cells.map((cell) => Number(cell.dataset.probability))")
        assert chances == pytest.approx(sorted(stage.probabilities[3].tolist(), reverse=True), abs=2e-4)


LABELS = """(cells) => cells.map((cell) => {
  const text = document.createRange();
  text.selectNodeContents(cell);
  const [words, box] = [text, cell].map((e) => e.getBoundingClientRect());
  const seen = words.top < box.bottom - 1;
  const cut = words.left < box.left || words.right > box.right || words.bottom > box.bottom + 1;
  return [cell.textContent, seen, seen && cut, words.width + 6 < box.width];
})"""


@pytest.mark.parametrize("width", [390, 1280])
def test_a_share_after_a_part_is_labelled_where_the_label_fits(site, page_file, width):
    part = figure(site.figures(page_file, width=width), "block")
    part.locator('[data-part="switch"][data-name="residual"]').click()
    part.locator('[data-part="stages"] > summary').click()
    rows = part.locator('[data-part="shares"]')
    labels = [label for row in rows.all() for label in row.locator("span").evaluate_all(LABELS)]
    assert not [label for label, _, cut, _ in labels if cut]
    assert all(seen for _, seen, _, fits in labels if fits)
    assert 0 < sum(seen for _, seen, *_ in labels) < len(labels)
    # Also where no tag is likely.
    widest, seen, *_ = rows.last.locator("span").first.evaluate_all(LABELS)[0]
    assert seen
    assert int(widest.split()[1]) < 30


SWITCHES = {
    "residual": ["residual"],
    "norm": ["norm"],
    "attention": ["attention 1", "attention 2"],
    "network": ["network 1", "network 2"],
}


def test_the_four_switches_move_the_bars_and_no_row_changes_its_place(part):
    rows = list(odds(part))
    for name, off in SWITCHES.items():
        assert switch(part, name).get_attribute("aria-pressed") == "true"
        switch(part, name).click()
        assert switch(part, name).get_attribute("aria-pressed") == "false"
        assert_bars(part, off=off)
        assert_shows(part, off=off)
        assert list(odds(part)) == rows
        assert f"Off: {name}." in says(part)
        switch(part, name).focus()
        part.page.keyboard.press("Space")
    assert_bars(part)
    # What the chapter says of them.
    switch(part, "attention").click()
    assert odds(part)["VERB"] == pytest.approx(0.97, abs=5e-3)
    switch(part, "attention").click()
    switch(part, "residual").click()
    assert odds(part)["NOUN"] == pytest.approx(0.26, abs=5e-3)


def test_a_tag_that_leads_has_a_row_whatever_is_off(part):
    for name in ("residual", "norm"):
        switch(part, name).click()
    flip(part, "head 1.2")
    assert Block("I saw a saw", word=3, off=["norm", "residual", "head 1.2"]).tag == "NUM"
    assert_bars(part, off=["norm", "residual", "head 1.2"])


def test_a_switch_says_when_it_is_off_in_part_and_leaves_that_part_alone(part):
    flip(part, "head 2.2")
    attention = switch(part, "attention")
    assert attention.get_attribute("aria-pressed") == "mixed"
    attention.click()
    assert attention.get_attribute("aria-pressed") == "false"
    attention.click()
    assert attention.get_attribute("aria-pressed") == "mixed"
    assert_shows(part, off=["head 2.2"])
    flip(part, "attention 1")
    attention.click()  # from off in one layer to off in both
    assert_shows(part, off=["attention 1", "head 2.2", "attention 2"])


def test_every_part_alone_and_some_together(part):
    for name in ("attention 1", "network 1", "attention 2", "network 2", "head 2.2"):
        flip(part, name)
        assert_shows(part, off=[name])
        flip(part, name)
    flip(part, "attention 2")
    flip(part, "attention 1")
    assert_shows(part, off=["attention 1", "attention 2"])
    part.locator('[data-part="reset"]').click()
    assert [row[1] for row in table(part)] == ["on"] * 5
    part.locator('[data-part="undo"]').click()
    assert_shows(part, off=["attention 1", "attention 2"])


def test_a_switch_shows_by_mark_and_border_whether_it_is_on(part):
    norm, attention = switch(part, "norm"), switch(part, "attention")
    look = "(it) => [getComputedStyle(it, '::before').content, getComputedStyle(it).borderTopStyle]"
    mark, border = norm.evaluate(look)
    assert "✓" in mark
    assert border == "solid"
    norm.click()
    flip(part, "head 1.1")
    for it, sign in ((norm, "✗"), (attention, "–")):
        mark, border = it.evaluate(look)
        assert sign in mark
        assert border == "dashed"


def test_the_drawing_breaks_where_a_part_is_off(part):
    broken = part.locator(".attnlab-way path[stroke-dasharray]")
    assert broken.count() == 0
    stays = part.locator(".attnlab-way text", has_text="stays")
    for name, ways, said in (("attention", 1, 0), ("residual", 2, 1), ("network", 2, 2)):
        # Where a part adds nothing the stream runs on, with its residual connection or not: then it says so.
        switch(part, name).click()
        assert broken.count() == ways
        assert stays.count() == said


def test_words_by_key_and_another_sentence(part):
    part.locator('[data-part="word"][aria-checked="true"]').focus()
    part.page.keyboard.press("ArrowLeft")
    assert_shows(part, word=2)
    part.locator('[data-part="sentence"]').fill("What do you do?")
    part.locator('[data-part="word"]').nth(3).click()
    assert_shows(part, sentence="What do you do?", word=3)
    part.locator('[data-part="sentence"]').fill("")
    assert "no word to follow" in says(part)
    assert part.locator('[data-part="bars"]').is_hidden()


def test_a_link_brings_back_what_is_off(part):
    flip(part, "network 1")
    part.page.goto(copied(part, "link"))
    assert_shows(figure(part.page, "block"), off=["network 1"])


def test_copied_code_prints_the_same_tags(part):
    flip(part, "attention 1")
    shown, _ = run_copied(part)
    assert [line.split()[-2] for line in shown.splitlines()] == [row[2] for row in table(part)]


def test_the_saved_drawing_says_what_is_off_and_has_the_bars(part):
    switch(part, "network").click()
    flip(part, "attention 2")
    drawing = saved(part)
    for said in ("network: off", "attention: in part", "Off: network 1, attention 2, network 2", "NOUN"):
        assert said in drawing
    rows = part.locator('[data-part="bars"] > div > :last-child').all_inner_texts()
    assert all(f">{share}<" in drawing for share in rows)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, page_file, theme):
    page = site.figures(page_file, theme=theme)
    flip(figure(page, "block"), "head 1.1")
    assert violations(page) == []


def test_a_phone_does_not_scroll_sideways(site, page_file):
    page = site.figures(page_file, width=320, height=640)
    part = figure(page, "block")
    assert part.locator(".attnlab-root").bounding_box()["height"] <= 700
    flip(part, "network 2")
    part.locator('[data-part="stages"] > summary').click()
    assert_fits_a_thumb(part)


def test_it_is_seen_at_once(part):
    assert part.locator(".attnlab-root").bounding_box()["height"] <= 500


APART = """async (figure) => {
  const seen = [];
  figure.querySelector('[data-name="attention"]').click();
  for (let i = 0; i < 45; i++) {
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
    const row = figure.querySelector('[data-tag="VERB"]'), bar = row.querySelector(".attnlab-mark");
    const now = 100 * bar.getBoundingClientRect().width / bar.parentElement.clientWidth;
    seen.push([now, Number.parseFloat(row.lastChild.textContent),
      figure.querySelectorAll(".attnlab-way path[stroke-dasharray]").length,
      figure.querySelector(".is-lead").dataset.tag,
      figure.querySelector('[data-part="status"]').textContent.includes("VERB")]);
  }
  return seen;
}"""


def test_a_number_and_its_bar_run_on_one_clock(part):
    part.page.emulate_media(reduced_motion="no-preference")
    seen = part.evaluate(APART)
    part.page.emulate_media(reduced_motion="reduce")
    assert any(5 < said < 90 for _, said, *_ in seen), "it is seen to grow"
    assert max(abs(bar - said) for bar, said, *_ in seen) < 20, seen  # a frame apart at most
    assert seen[-1][1] == round(100 * odds(part)["VERB"])
    # First the way breaks, then the bars go; the longest leads, and what it comes to is said at the end.
    assert all(broken == 1 for _, _, broken, *_ in seen)
    assert seen[0][0] < 2
    assert all(
        lead == ("NOUN" if said < 40 else "VERB") for _, said, _, lead, _ in seen if abs(said - 48) > 8
    )
    assert not any(verb for bar, *_, verb in seen if bar < 96)
    assert seen[-1][3:] == ["VERB", True]


def test_the_way_through_a_layer_takes_about_half_of_the_room(part):
    way, room = (part.locator(f".attnlab-{name}").bounding_box()["width"] for name in ("way", "through"))
    assert 0.38 < way / room < 0.55

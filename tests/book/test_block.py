"""The block in the page: every switch against what Python computes."""

import pytest

from attnlab.widgets import Block

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
    part.locator(f'[data-part="part"][data-name="{name}"]').click()


def test_it_starts_as_python_says(part):
    assert_shows(part)
    wide = part.locator('[data-part="bars"]').first.locator("span")
    chances = wide.evaluate_all("(cells) => cells.map((cell) => Number(cell.dataset.probability))")
    assert sum(chances) == pytest.approx(1, abs=2e-3)


def test_every_switch_alone_and_some_together(part):
    for name in ("attention 1", "network 1", "attention 2", "network 2", "head 2.2", "norm", "residual"):
        flip(part, name)
        assert_shows(part, off=[name])
        flip(part, name)
    flip(part, "attention 2")
    flip(part, "attention 1")
    assert_shows(part, off=["attention 1", "attention 2"])
    part.locator('[data-part="reset"]').click()
    assert [row[1] for row in table(part)] == ["on"] * 5


def test_a_switch_shows_by_mark_and_border_whether_it_is_on(part):
    switch = part.locator('[data-part="part"][data-name="norm"]')
    look = "(it) => [getComputedStyle(it, '::before').content, getComputedStyle(it).borderTopStyle]"
    mark, border = switch.evaluate(look)
    assert "✓" in mark
    assert border == "solid"
    flip(part, "norm")
    mark, border = switch.evaluate(look)
    assert "✗" in mark
    assert border == "dashed"


def test_words_by_key_and_another_sentence(part):
    part.locator('[data-part="word"][aria-checked="true"]').focus()
    part.page.keyboard.press("ArrowLeft")
    assert_shows(part, word=2)
    part.locator('[data-part="sentence"]').fill("What do you do?")
    part.locator('[data-part="word"]').nth(3).click()
    assert_shows(part, sentence="What do you do?", word=3)
    part.locator('[data-part="sentence"]').fill("")
    assert "no word to follow" in says(part)


def test_a_link_brings_back_what_is_off(part):
    flip(part, "network 1")
    part.page.goto(copied(part, "link"))
    assert_shows(figure(part.page, "block"), off=["network 1"])


def test_copied_code_prints_the_same_tags(part):
    flip(part, "attention 1")
    shown, _ = run_copied(part)
    assert [line.split()[-2] for line in shown.splitlines()] == [row[2] for row in table(part)]


def test_the_saved_drawing_says_what_is_off(part):
    flip(part, "attention 2")
    assert "attention 2 (off)" in saved(part)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(site, page_file, theme):
    page = site.figures(page_file, theme=theme)
    flip(figure(page, "block"), "head 1.1")
    assert violations(page) == []


def test_a_phone_does_not_scroll_sideways(site, page_file):
    page = site.figures(page_file, width=320, height=640)
    assert_fits_a_thumb(figure(page, "block"))

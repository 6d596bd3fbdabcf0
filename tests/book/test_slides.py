"""A chapter's slides, opened from a file: its figures live, its answers hidden, nothing asked of anybody."""

import sys

import nbformat
import pytest

from .conftest import PATIENCE, ROOT, chapters, page_of
from .reader import drag, handle, middle, number, table

sys.path.insert(0, str(ROOT / "scripts"))

import readers
import slides
import source
import teacher

BOOK = chapters.read(ROOT)


@pytest.fixture
def opened(browser, tmp_path):
    """Write a chapter's deck, open it from its file and wait until it stands."""
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 1280, "height": 720})
    context.set_default_timeout(PATIENCE)
    page, wrong = context.new_page(), []
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))

    def make(topic):
        path = ROOT / f"{page_of(topic)}.ipynb"
        cells = nbformat.read(path, as_version=4).cells
        names = readers.names_of(path, cells, BOOK, readers.sources_of(ROOT / "chapters/references.bib"))
        made = slides.of(
            teacher.without_solutions(cells),
            names,
            title=topic,
            question="Why?",
            exercises=["One"],
            source=source.note("ada/notes", page_of(topic)),
        )
        file = tmp_path / "deck.html"
        file.write_text(slides.deck(made), encoding="utf-8")
        page.on(
            "request",
            lambda asked: None if asked.url.startswith(("data:", file.as_uri())) else wrong.append(asked.url),
        )
        page.goto(file.as_uri())
        page.locator("body[data-stands]").wait_for()
        return page

    yield make
    page.evaluate("0")
    context.close()
    assert wrong == []


def place(page):
    return page.locator('nav [data-part="place"]').inner_text()


def test_keys_turn_the_slides_and_show_the_notes(opened):
    page = opened("why_attention")
    many = page.locator(".slide").count()
    assert place(page) == f"1 / {many}"
    assert (
        page.locator("figure [data-part='reset']").count()
        == page.locator("figure[data-attnlab]").count()
        == 2
    )
    page.keyboard.press("ArrowRight")
    page.keyboard.press("PageDown")
    assert place(page) == f"3 / {many}"
    shown = page.locator(".slide").nth(2)
    assert shown.bounding_box()["y"] == 0
    assert shown.bounding_box()["height"] <= 720  # nobody scrolls to see a figure
    # In a figure the arrows are the figure's own, and the presenter's keys still turn the slide.
    shown.get_by_role("textbox").first.press("ArrowLeft")
    assert place(page) == f"3 / {many}"
    page.keyboard.press("PageUp")
    assert place(page) == f"2 / {many}"
    page.keyboard.press("End")
    assert "by the attnlab authors" in page.locator(".slide").last.inner_text()
    page.keyboard.press("PageUp")
    question = page.locator(".slide").nth(-2)
    assert question.locator("li").count() == 3
    assert not question.locator(".notes").is_visible()
    page.keyboard.press("n")
    assert question.locator(".notes .right").is_visible()
    page.keyboard.press("N")
    assert not question.locator(".notes").is_visible()
    page.reload()
    page.locator("body[data-stands]").wait_for()
    assert place(page) == f"{many - 1} / {many}"


def test_a_figure_that_was_made_smaller_is_dragged_like_any_other(opened):
    page = opened("relevance")
    assert page.locator("mjx-container").count() > 0
    assert page.locator("mjx-merror").count() == 0
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.set_viewport_size({"width": 1280, "height": 420})  # a low screen
    figure = page.locator("figure[data-attnlab]")
    page.wait_for_function("document.querySelector('figure[data-attnlab]').style.zoom")
    assert float(figure.evaluate("(figure) => figure.style.zoom")) < 0.95
    wanted = [number(cell) for cell in table(figure)[2][1:3]]  # its second value
    # From middle to middle: a handle's name, which stands above it, is no part of where it is.
    start, end = (middle(handle(figure, which).locator("circle").first) for which in ("query", "1"))
    drag(page, start, end)
    assert [number(cell) for cell in table(figure)[0][1:3]] == pytest.approx(wanted, abs=0.05)

"""Pages without scripts and on paper: the figures' pictures, answers at the end, a PDF with its bookmarks."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from attnlab_book import stills
from bs4 import BeautifulSoup
from pypdf import PdfReader

from .conftest import ROOT, page_of, toc_pages

import pdf  # isort: skip - found through conftest

SHORT = "chapters/design"
"""A page with a prediction, exercises and a figure, and not much else."""

STATE = """() => [document.querySelector("article").textContent,
  [...document.querySelectorAll("article details")].map((fold) => fold.open)]"""


@pytest.fixture(scope="module")
def printed(book, browser, tmp_path_factory) -> Path:
    """Print a short page and another to which it links, and bind the two."""
    target = tmp_path_factory.mktemp("pdf")
    pages = pdf.print_book(browser, book, target, ["playground", "design"])
    pdf.print_whole(browser, pages, book, target)
    return target


def test_each_figure_has_a_picture_of_what_it_is_now():
    """`make stills` draws them again."""
    wanted = stills.wanted(ROOT)
    stored = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / stills.FOLDER).glob("*.svg")}
    assert stored.keys() == wanted.keys()
    assert {name.partition("-")[0] for name in stored} == {
        path.stem for path in (ROOT / stills.SCRIPTS).glob("*.js") if not path.stem.endswith("-model")
    }
    for name, text in stored.items():
        drawing = ET.fromstring(text)
        assert drawing.get("data-drawn-from") == stills.digest(ROOT, name), name
        shapes = [
            one for one in drawing.iter() if one.tag.endswith(("}path", "}rect", "}circle", "}line", "}text"))
        ]
        assert len(shapes) > 8, name
        assert any(one.text for one in drawing.iter() if one.tag.endswith("}text")), name
        # Alone: no colour of the page, no file, no script.
        assert not re.search(r"var\(|href|<script|url\(", text), name
        assert len(text) < 70_000, name


def test_a_page_without_scripts_shows_every_picture_and_its_numbers(site):
    context = site.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.address}/chapters/five_minutes.html")
    figures = page.locator("figure[data-attnlab]")
    assert figures.count() == 5
    for figure in figures.all():
        assert figure.locator("img").evaluate("(image) => image.naturalWidth") > 200
        assert figure.locator("table").first.is_visible()
    context.close()


def test_no_reader_with_scripts_loads_a_picture(site):
    asked = []
    page = site.open(toc_pages()[-1])
    page.on("request", lambda request: asked.append(request.url))
    page = site.open("chapters/five_minutes")
    assert asked
    assert not [address for address in asked if stills.FOLDER in address]


def test_on_paper_answers_stand_at_the_end_and_after_it_the_page_is_as_before(site):
    page = site.open(page_of("masking"))
    choice = page.locator(".predict details").nth(1)
    choice.evaluate("(fold) => (fold.open = true)")
    said = choice.locator("p").first
    words, before = said.inner_text(), page.evaluate(STATE)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    answers = page.locator(".attn-answers")
    assert not said.is_visible()
    assert answers.get_by_text(words).is_visible()
    solutions = page.locator(".solution")
    assert [one.is_visible() for one in solutions.all()] == [False] * 4 + [True] * 4
    wanted = page.locator(".exercise").count() + 2  # a prediction, the quiz
    assert answers.locator("h3").count() == wanted
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(STATE) == before


def test_a_page_of_the_pdf_has_its_headings_as_bookmarks_and_none_is_blank(book, printed):
    page = BeautifulSoup((book / f"{SHORT}.html").read_text(encoding="utf-8"), "html.parser")
    for sign in page.select("article .headerlink"):
        sign.decompose()
    headings = [one.get_text() for one in page.select("article :is(h1, h2)")]
    reader = PdfReader(printed / "design.pdf")
    (top, below, *rest) = reader.outline
    assert rest == []
    marks = [top.title, *(one.title for one in below if not isinstance(one, list))]
    assert [_plain(mark) for mark in marks] == [_plain(heading) for heading in (*headings, "Answers")]
    first = len(PdfReader(printed / "playground.pdf").pages) + 1
    for number, sheet in enumerate(reader.pages, first):
        words = sheet.extract_text().split()
        assert len(words) > 12
        assert str(number) in words[:12]


def test_every_font_of_the_pdf_is_in_it(printed):
    fonts = 0
    for sheet in PdfReader(printed / "design.pdf").pages:
        for font in sheet["/Resources"].get("/Font", {}).values():
            inner = font["/DescendantFonts"][0] if "/DescendantFonts" in font else font
            held = inner.get("/FontDescriptor", {}).keys() & {"/FontFile", "/FontFile2", "/FontFile3"}
            assert held or font["/Subtype"] == "/Type3", font
            fonts += 1
    assert fonts


def test_the_answers_of_the_pdf_are_on_its_last_pages(book, printed):
    page = BeautifulSoup((book / f"{SHORT}.html").read_text(encoding="utf-8"), "html.parser")
    texts = [_plain(sheet.extract_text()) for sheet in PdfReader(printed / "design.pdf").pages]
    end = next(at for at, text in enumerate(texts) if text.find("answers", 0, 60) >= 0)
    before, after = "".join(texts[:end]), "".join(texts[end:])
    folds = page.select(".predict details.answer")
    assert folds
    for fold in folds:
        said = _plain(fold.select_one("p").get_text())[:40]
        assert _plain(fold.summary.get_text()) in before
        assert said not in before
        assert said in after


def test_links_of_the_pdf_lead_within_it_or_to_the_file_beside(printed):
    reader = PdfReader(printed / "design.pdf")
    links = [one.get_object() for sheet in reader.pages for one in sheet.get("/Annots", ())]
    files = {one["/A"]["/F"] for one in links if one.get("/A", {}).get("/S") == "/GoToR"}
    assert files == {"playground.pdf"}
    assert not [one for one in links if str(one.get("/A", {}).get("/URI", "")).startswith("file:")]
    names = reader.named_destinations
    within = [one["/Dest"] for one in links if "/Dest" in one]
    assert within
    assert all(name in names for name in within)


def test_the_whole_book_counts_on_and_its_links_stay_in_it(printed):
    parts = [PdfReader(printed / f"{name}.pdf") for name in ("playground", "design")]
    whole = PdfReader(printed / f"{pdf.WHOLE}.pdf")
    front = len(whole.pages) - sum(len(part.pages) for part in parts)
    assert front == 2  # the title, the contents
    assert whole.page_labels[:4] == ["i", "ii", "1", "2"]
    contents = whole.pages[1].extract_text()
    second = len(parts[0].pages) + 1
    assert re.search(rf"Design your own attention\s*{second}\b", contents)
    # Parts, in them pages, in them sections; each bookmark where its words are.
    marks = [one for one in whole.outline if not isinstance(one, list)]
    assert len(marks) == 2
    (design, *_) = whole.outline[-1]
    assert whole.get_destination_page_number(design) == front + second - 1
    for mark in whole.outline[-1][-1]:
        if not isinstance(mark, list):
            sheet = whole.pages[whole.get_destination_page_number(mark)]
            assert _plain(mark.title) in _plain(sheet.extract_text())
    links = [one.get_object() for sheet in whole.pages for one in sheet.get("/Annots", ())]
    assert {str(link["/A"]["/S"]) for link in links if "/A" in link} <= {"/GoTo", "/URI"}
    assert not [link for link in links if str(link.get("/A", {}).get("/URI", "")).startswith("file:")]
    own = {page.indirect_reference.idnum for page in whole.pages}
    led = [link["/A"]["/D"][0].idnum for link in links if link.get("/A", {}).get("/S") == "/GoTo"]
    assert len(led) > 10
    assert set(led) <= own
    assert not [link for link in links if "/Dest" in link]


def _plain(text: str) -> str:
    return re.sub(r"\W", "", text).lower()

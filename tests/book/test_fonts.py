"""The book's own fonts: cut to what the pages show, in the page before its text stands."""

import re
from pathlib import Path

import pytest
from attnlab_book import fonts
from fontTools.ttLib import TTFont

from .conftest import ROOT, page_of, toc_pages
from .reader import parsed


def test_the_fonts_hold_what_is_read_and_are_light(book):
    held = {name: TTFont(book / f"_static/fonts/{name}.woff2") for name in fonts.TEXT}
    shown = set()
    for name in toc_pages():
        article = parsed(book / f"{name}.html").select_one("article")
        for paragraph in article.select("p, li, h1, h2, h3"):
            shown.update(
                "".join(text for text in paragraph.find_all(string=True) if text.find_parent("math") is None)
            )
    letters = {
        sign
        for sign in shown
        if (sign.isalpha() and ord(sign) < 0x100) or sign in ",.;:?!–’“”…×−()0123456789"
    }
    assert len(letters) > 70
    for name, font in held.items():
        assert letters - {chr(code) for code in font.getBestCmap()} == set(), name
    assert sum((book / f"_static/fonts/{name}.woff2").stat().st_size for name in held) < 66_000


def test_cut_fonts_do_not_bear_the_name_that_is_reserved(book):
    for name in fonts.TEXT:
        records = TTFont(book / f"_static/fonts/{name}.woff2")["name"].names
        assert {str(record) for record in records if record.nameID in (1, 4, 6)} <= {
            name.replace("saw", "Saw")
        }


def test_pages_ask_for_each_font_early(book):
    first = Path(fonts.__file__).with_name("first.js").read_text(encoding="utf-8")
    asked = re.search(r"names = \[(.*?)\]", first)[1]
    assert re.findall(r'"([\w-]+)"', asked) == [*sorted(fonts.TEXT, key=asked.index)]
    assert asked.startswith('"saw-sans"')
    sheet = (book / "_static/book.css").read_text(encoding="utf-8")
    assert set(re.findall(r"fonts/(saw-[\w-]+)\.woff2", sheet)) == set(fonts.TEXT)


@pytest.mark.parametrize("where", ["served", "from the file system"])
def test_text_is_set_in_them(site, book, where):
    page = site.browser.new_page()
    there = site.address if where == "served" else book.as_uri()
    page.goto(f"{there}/{page_of('scaling')}.html")
    page.reload()  # on a loaded machine they come too late for a first visit, which then goes without
    page.wait_for_function("document.fonts.status === 'loaded'")
    wide = page.evaluate(
        """() => {
          const paint = document.createElement("canvas").getContext("2d");
          return ["italic 400", "400", "600"].map((cut) => {
            const width = (family) => {
              paint.font = `${cut} 40px ${family}`;
              return paint.measureText("attention").width;
            };
            return Math.abs(width('"Saw Serif", monospace') - width("monospace")) > 1;
          });
        }"""
    )
    assert wide == [True, True, True]
    family = "(text) => getComputedStyle(text).fontFamily.split(',')[0]"
    assert page.locator(".objectives p").nth(1).evaluate(family) == '"Saw Serif"'
    assert page.locator("nav.bd-links a").first.evaluate(family) == '"Saw Sans"'
    page.close()


def test_what_stands_in_for_them_is_as_high_and_as_wide(site, book):
    """A reader without the fonts sees the page as it is with them: lines as high, and as many."""
    sheet = (ROOT / "_static/attnlab.css").read_text(encoding="utf-8")
    faces = re.findall(
        r"size-adjust: ([\d.]+)%; ascent-override: ([\d.]+)%; descent-override: ([\d.]+)%", sheet
    )
    assert len(faces) == 13
    heads = [TTFont(book / f"_static/fonts/{name}.woff2") for name in fonts.TEXT]
    ours = {(head["hhea"].ascent / 1000, -head["hhea"].descent / 1000) for head in heads}
    for size, *heights in faces:
        high = [float(size) / 100 * float(part) / 100 for part in heights]
        assert any(high == pytest.approx(own, abs=0.002) for own in ours), (size, heights)
    heights = []
    for blocked in ([], ["*/saw-*.woff2"]):
        page = site.new_context("reduce").new_page()
        page.route(
            re.compile(r"saw-[\w-]+\.woff2"),
            lambda route, blocked=blocked: route.abort() if blocked else route.continue_(),
        )
        page.goto(f"{site.address}/{page_of('scaling')}.html")
        page.wait_for_function("document.fonts.status === 'loaded'")
        if not blocked:
            page.reload()
            page.wait_for_function("document.fonts.status === 'loaded'")
        heights.append(
            page.locator("article p").evaluate_all(
                "(all) => all.map((one) => one.getBoundingClientRect().height)"
            )
        )
        page.context.close()
    assert sum(heights[1]) == pytest.approx(sum(heights[0]), rel=0.01)

"""Formulas are set while the book is built, and their font holds what they need."""

import re

import pytest
from attnlab_book import formulas
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont

from .conftest import page_of, toc_pages
from .reader import parsed


def test_a_formula_becomes_what_browsers_draw():
    set_ = formulas.mathml(r"a_j = \frac{e^{s_j / T}}{\sum_k e^{s_k / T}}", display=True)
    soup = BeautifulSoup(set_, "html.parser")
    assert soup.math["display"] == "block"
    above, below = soup.mfrac.find_all(recursive=False)
    assert above.get_text() == "esj/T"
    assert below.get_text() == "∑kesk/T"
    assert "<math>" in formulas.mathml(r"\sqrt d", display=False)


@pytest.mark.parametrize("wrong", [r"\frac{1}{", r"\nosuchthing x", r"\begin{aligned} x"])
def test_a_formula_that_can_t_be_read_is_an_error_that_shows_it(wrong):
    with pytest.raises(ValueError, match="is no formula") as error:
        formulas.mathml(wrong, display=False)
    assert repr(wrong) in str(error.value)


def test_the_font_holds_every_sign_and_how_brackets_grow(book):
    font = TTFont(book / "_static/fonts/stix-two-math.woff2")
    assert "parenleft" in font["MATH"].table.MathVariants.VertGlyphCoverage.glyphs
    held = set(font.getBestCmap())
    shown = set()
    for name in toc_pages():
        page = parsed(book / f"{name}.html")
        for part in page.select("math mi, math mo, math mn"):
            shown.update(part.get_text())
    signs = {sign for sign in shown if not re.match(r"[\s\u2060-\u2064\u200b]", sign)}
    assert len(signs) > 80
    assert {sign for sign in signs if ord(sign) not in held} <= set("½")
    assert ord("√") in held, "a root's sign is in no text"
    assert 0x1D465 in held, "x is slanted where it stands for a number"
    assert len((book / "_static/fonts/stix-two-math.woff2").read_bytes()) < 60_000


def test_a_formula_keeps_the_comma_behind_it(site):
    page = site.open(page_of("queries_keys_values"), width=390)
    lines = page.locator(".attn-tied").evaluate_all(
        """(all) => all.map((one) => {
          const [formula, sign] = [one.querySelector("math"), document.createRange()];
          sign.selectNodeContents(one.lastChild);
          return [formula.getBoundingClientRect().bottom, sign.getBoundingClientRect().top];
        })"""
    )
    assert len(lines) > 10
    assert all(top < bottom for bottom, top in lines)


def test_a_root_is_drawn(site):
    page = site.open(page_of("scaling"))
    roots = page.locator("math msqrt").evaluate_all(
        """(roots) => roots.map((root) => {
          const inside = [...root.children].map((child) => child.getBoundingClientRect());
          const all = root.getBoundingClientRect();
          return [
            Math.min(...inside.map(({ left }) => left)) - all.left,
            Math.min(...inside.map(({ top }) => top)) - all.top,
            parseFloat(getComputedStyle(root).marginRight)
              + all.right - Math.max(...inside.map(({ right }) => right)),
          ];
        })"""
    )
    assert len(roots) > 20
    assert all(before > 3 and above > 1 and abs(behind) < 4 for before, above, behind in roots)


@pytest.mark.parametrize("width", [1280, 320])
def test_an_equation_opens_at_its_beginning_and_its_number_stands_behind_it(site, width):
    page = site.open(page_of("transformer"), width=width)
    places = page.locator("div.math:has(.eqno)").evaluate_all(
        """(all) => all.map((one) => [one, one.querySelector("math"), one.querySelector(".eqno")]
          .map((part) => part.getBoundingClientRect().left))"""
    )
    assert len(places) > 3
    assert all(left - 1 <= formula < number for left, formula, number in places)
    wide = page.locator("div.math").evaluate_all(
        "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).length"
    )
    assert (wide > 0) == (width == 320)

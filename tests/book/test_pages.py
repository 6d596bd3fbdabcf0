"""The files of the built book: every page, every link, every picture in words, nothing from outside."""

import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import set_address
from attnlab_book import licences

from .conftest import ROOT, page_of, toc_pages
from .reader import parsed


@lru_cache
def places(path: Path) -> set[str]:
    """Where a link into the page may lead; a script gives each figure its place."""
    page = parsed(path)
    named = [a["name"] for a in page.find_all("a", attrs={"name": True})]
    figures = [f"figure-{figure['data-attnlab']}" for figure in page.find_all(attrs={"data-attnlab": True})]
    return {element["id"] for element in page.find_all(id=True)} | {*named, *figures}


def all_pages(book: Path) -> list[Path]:
    return [path for path in sorted(book.rglob("*.html")) if "_static" not in path.parts]


def test_every_page_of_the_contents_is_there(book):
    assert [name for name in toc_pages() if not (book / f"{name}.html").exists()] == []


def test_links_and_anchors_resolve(book):
    broken, checked = [], 0
    for page in all_pages(book):
        for link in parsed(page).find_all("a", href=True):
            parts = urlsplit(link["href"])
            if parts.scheme or parts.netloc:
                continue
            checked += 1
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file():
                broken.append(f"{page.name} → {link['href']}")
            elif (
                parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in places(target)
            ):
                broken.append(f"{page.name} → {link['href']} (no such place in the page)")
    assert checked > 100
    assert broken == []


def test_every_picture_says_what_it_shows(book):
    for page in all_pages(book):
        for image in parsed(page).find_all("img"):
            assert image.get("alt") is not None, f"{page.name}: {image}"
            if image.find_parent("article"):
                assert image["alt"].strip(), f"{page.name}: {image}"
        for plot in parsed(page).select("figure.attnlab-plot svg"):
            assert plot.get("role") == "img", page.name
            assert len(plot.get("aria-label", "")) > 20, page.name
        for figure in parsed(page).select("figure.attnlab-figure"):
            assert figure.find("table"), f"{page.name}: a figure without the table of its numbers"
            assert figure.find("figcaption"), f"{page.name}: a figure without a caption"


@pytest.mark.parametrize("topic", ["queries_keys_values", "multi_head", "what_it_costs"])
def test_a_drawing_has_a_caption_where_plots_beside_it_have_one(book, topic):
    for plot in parsed(book / f"{page_of(topic)}.html").select("figure.attnlab-plot"):
        assert len(plot.figcaption.get_text().split()) > 5, plot.svg["aria-label"]


@pytest.mark.parametrize("unwanted", ["thebe", "require", "fontawesome.js", "html-manager", "://"])
def test_pages_load_no_script_that_reaches_out(book, unwanted):
    for page in all_pages(book):
        scripts = [script["src"] for script in parsed(page).find_all("script", src=True)]
        assert scripts or page.parent == book
        assert [source for source in scripts if unwanted in source] == [], page.name


def test_pages_load_nothing_from_elsewhere(book):
    for page in all_pages(book):
        for tag, attribute in (
            ("script", "src"),
            ("img", "src"),
            ("iframe", "src"),
            ("source", "src"),
            ("link", "href"),
        ):
            for element in parsed(page).find_all(tag, attrs={attribute: True}):
                # A page's own address is told to search engines; no browser loads it.
                if element.get("rel") != ["canonical"]:
                    assert "//" not in element[attribute], f"{page.name}: {element}"
    for sheet in (book / "_static").rglob("*.css"):
        assert "@import url(http" not in sheet.read_text(encoding="utf-8"), sheet


@pytest.mark.parametrize(
    ("where", "apart", "together"),
    [("td", r"\d ± \d", "\u00a0±\u00a0"), (":is(p, li, summary)", r"\d %", "\u00a0%")],
    ids=["what it may be off by", "its sign of per cent"],
)
def test_no_line_ends_between_a_number_and(book, where, apart, together):
    kept = 0
    for page in all_pages(book):
        for piece in parsed(page).select(f"article {where}"):
            said = piece.get_text()
            assert not re.search(apart, said), f"{page.name}: {said}"
            kept += together in said
    assert kept > 100


def test_models_are_where_their_figures_look_for_them(book):
    """Copied when the book is built; in the source _static every page would load it."""
    for name in ("tagger-model.js", "alignment-model.js", "decoder-model.js"):
        source = ROOT / "src/attnbook/static" / name
        assert (book / "_static/models" / name).read_bytes() == source.read_bytes()
    assert not (ROOT / "_static/models").exists()


def test_notebook_pages_launch_in_colab_and_binder_once_there_is_an_address(book):
    shown = set_address.is_set(ROOT)
    for name in toc_pages():
        if (ROOT / f"{name}.ipynb").exists():
            text = (book / f"{name}.html").read_text(encoding="utf-8")
            assert ("colab.research.google.com/github/" in text) == shown
            assert ("mybinder.org/v2/gh/" in text) == shown
            assert shown or "/OWNER/" not in text.partition('<div class="bd-article')[0]


SAYS = {
    "MIT": "Permission is hereby granted, free of charge",
    "BSD": "Redistribution and use in source and binary forms",
    "Apache": "Apache License",
    "OFL": "SIL OPEN FONT LICENSE",
}
"""Words that a licence's text must hold."""


def test_what_others_made_comes_with_its_licence(book):
    static = book / "_static"
    for one in licences.SHIPPED:
        text = " ".join((static / "licences" / one.file).read_text(encoding="utf-8").split())
        asked = [words for name, words in SAYS.items() if name in one.licence]
        assert asked, one.name
        assert all(words in text for words in asked), one.name
        assert all(list(static.glob(pattern)) for pattern in one.files), one.name
    links = parsed(book / "chapters/licences.html").select("article table a[href*=_static]")
    assert [link["href"].rpartition("/")[2] for link in links] == [one.file for one in licences.SHIPPED]


def test_nothing_is_shipped_whose_licence_nobody_knows(book):
    static = book / "_static"
    patterns = [*licences.OURS, *(pattern for one in licences.SHIPPED for pattern in one.files)]
    known = {path for pattern in patterns for path in static.glob(pattern)}
    unknown = [path for path in static.rglob("*") if path.is_file() and not {path, path.parent} & known]
    assert unknown == []


def test_every_page_leads_to_the_licences(book):
    for page in all_pages(book):
        if page != book / "index.html":  # it leads on to the first page by itself
            footer = parsed(page).select("footer a")
            assert "All licences" in [link.get_text() for link in footer], page
            assert "LICENCES" not in [link["href"] for link in footer]

"""One style sheet for all pages looks like the twelve that it was cut from, and scripts hold no page up."""

import re

import pytest
from attnlab_book import bundle

from .conftest import page_of, toc_pages
from .reader import parsed

LOOKS = """() => [...document.querySelectorAll("body, body *")].map((element) => {
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  const seen = ["color", "backgroundColor", "fontFamily", "fontSize", "fontWeight", "display", "position",
    "margin", "padding", "borderWidth", "textDecorationLine", "visibility", "opacity", "overflow",
    "zIndex", "listStyleType"];
  return [element.tagName, String(element.className?.baseVal ?? element.className), Math.round(box.width),
    Math.round(box.height), ...seen.map((name) => style[name])].join("; ");
})"""
ALL_SHEETS = """async (sheets) => {
  const one = document.querySelector("link[rel=stylesheet]");
  const base = new URL(".", one.href);
  await Promise.all(sheets.map((name) => new Promise((loaded) => {
    const link = document.createElement("link");
    Object.assign(link, { rel: "stylesheet", href: new URL(name, base).href, onload: loaded });
    one.before(link);
  })));
  one.remove();
  await new Promise((frame) => requestAnimationFrame(() => requestAnimationFrame(frame)));
}"""


@pytest.mark.parametrize(
    ("name", "theme", "width"),
    [
        ("chapters/index", "light", 1280),
        (page_of("scaling"), "dark", 390),
        ("chapters/notation", "dark", 1280),
    ],
)
def test_a_page_looks_as_it_does_with_every_rule_of_every_sheet(site, book, name, theme, width):
    first = (book / bundle.SHEET).read_text(encoding="utf-8").splitlines()[0]
    sheets = re.findall(r"[\w./-]+\.css", first)
    assert len(sheets) >= 12
    page = site.open(name, theme=theme, width=width)
    if name == "chapters/index":
        page.wait_for_selector(".is-asked")  # its figure thinks of a question
    cut = page.evaluate(LOOKS)
    page.evaluate(ALL_SHEETS, sheets)
    assert len(cut) > 300
    assert [(a, b) for a, b in zip(cut, page.evaluate(LOOKS), strict=True) if a != b] == []


def test_every_page_names_one_sheet_and_waits_for_no_script(book):
    for name in toc_pages():
        page = parsed(book / f"{name}.html")
        (link,) = page.select("link[rel=stylesheet]")
        assert re.search(r"_static/book\.css\?v=[0-9a-f]{8}$", link["href"])
        scripts = page.select("script[src]")
        assert all(script.has_attr("defer") for script in scripts), scripts
        assert "_static/attnlab.js" in scripts[0]["src"], "figures come first"
    assert (book / bundle.SHEET).stat().st_size < 180_000


def test_what_a_page_will_load_first_is_named_in_its_head(book):
    for name in toc_pages():
        page = parsed(book / f"{name}.html")
        figures = [figure["data-attnlab"] for figure in page.select("figure[data-attnlab]")]
        named = [link["href"] for link in page.select("link[rel=preload][as=script]")]
        assert len(named) == bool(figures)
        if figures:
            address, version = named[0].split("?v=")
            assert (book / name).parent.joinpath(address).resolve().name == f"{figures[0]}.js"
            assert f'globalThis.attnlabVersion = "?v={version}"' in str(page)


@pytest.mark.parametrize(
    ("sheet", "kept"),
    [
        (".a > .b:hover, .c{margin:0}", ".a > .b:hover{margin:0}"),
        ("b.a::before{content:'}'}", 'b.a::before{content:"}"}'),
        (".a:not(.c), #c{top:0}", ".a:not(.c){top:0}"),
        ("[data-x=c] .a{top:0 !important}", "[data-x=c] .a{top:0!important}"),
        ("@media (width < 9px){.c{top:0}}", ""),
        ("@supports (top:0){@media print{.a{top:0}.c{top:0}}}", "@supports (top:0){@media print{.a{top:0}}}"),
        ("@keyframes c{from{top:0}}", "@keyframes c{from{top:0}}"),
        (":root{--x:{}}", ":root{--x:{}}"),
    ],
)
def test_a_rule_stays_when_all_that_its_selector_names_is_there(sheet, kept):
    assert bundle.cut(sheet, {"a", "b"}) == kept


def test_a_sheet_that_cant_be_read_stops_the_build():
    with pytest.raises(Exception, match="can't be read in line 1"):
        bundle.cut(".a", {"a"})

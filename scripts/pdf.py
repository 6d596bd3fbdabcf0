"""Prints the built book: one PDF a page of its contents, and one of the whole, under one count of pages.

pdf.py           writes _build/pdf/*.pdf from _build/html
pdf.py NAME …    only the pages whose files end so (a chapter's topic will do), and no whole book

A page prints as a reader's browser prints it, but for the figures: each is its picture and its table.
Chromium sets the type, the bookmarks of each page and the links within it; the rest is added here.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from html import escape
from io import BytesIO
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urljoin

import dev_browser
import dev_setup
import yaml
from playwright.sync_api import Browser
from pypdf import PdfReader, PdfWriter
from pypdf.constants import PageLabelStyle
from pypdf.generic import (
    ArrayObject,
    Destination,
    DictionaryObject,
    Fit,
    NameObject,
    NumberObject,
    TextStringObject,
)

sys.path.insert(0, str(dev_setup.ROOT / "_ext"))

from attnlab_book import drawings, share
from attnlab_book import pages as pages_setup

HTML = dev_setup.ROOT / "_build/html"
TARGET = dev_setup.ROOT / "_build/pdf"
WHOLE = "i-saw-a-saw"
AUTHOR = "The attnlab authors"
FRONT = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>BOOK</title><style>
body { font: 11pt/1.42 system-ui, "Noto Sans", "Liberation Sans", sans-serif; }
header { height: 235mm; break-after: page; display: flex; flex-direction: column; justify-content: center; }
svg { width: 110mm; }
h1 { font-size: 34pt; margin: 12mm 0 0; }
h2 { font-size: 17pt; }
h3 { font-size: 11pt; color: #555; margin: 4mm 0 1mm; break-after: avoid; }
header p { margin: 2mm 0; }
ul { list-style: none; padding: 0; margin: 0; }
li { display: flex; }
li::before { content: ""; order: 1; flex: 1; border-bottom: 1px dotted #999; margin: 0 2mm 1.6mm; }
li span { order: 2; }
a { color: inherit; text-decoration: none; }
</style><header>DRAWING<h1>BOOK</h1><p>Attention from first principles</p><p>AUTHOR</p>
<p><small>ADDRESSText: CC BY 4.0. Code: MIT. On the web pages figures can be grabbed; here each stands
as it opens. Answers, hints and solutions stand at the end of each chapter.</small></p></header>
<h2>Contents</h2>LIST</html>"""
"""The title and the contents."""
PICTURES = """async () => {
  for (const noscript of document.querySelectorAll("figure[data-attnlab] noscript")) {
    const figure = noscript.parentElement;
    figure.insertAdjacentHTML("afterbegin", noscript.textContent);
  }
  await document.fonts.ready;
  await Promise.all([...document.images].map((image) => { image.loading = "eager"; return image.decode(); }));
}"""
"""Figures as they are without their scripts."""
TITLE = "(heading) => heading.textContent"
TARGETS = """(names) => document.body.insertAdjacentHTML("beforeend",
  "<nav hidden>" + names.map((name) => `<a href="#${CSS.escape(name)}"></a>`).join("") + "</nav>")"""
"""Chromium keeps the places of the names that the page itself links to, and of no others."""


STYLE = """
@page {
  size: A4; margin: 19mm 18mm 20mm;
  font: 8.5pt system-ui, "Noto Sans", "Liberation Sans", sans-serif; color: #555;
  @top-left { content: "BOOK" } @top-right { content: "TITLE" } @bottom-center { content: NUMBER }
}
@page :first { counter-set: page FIRST; @top-left { content: none } @top-right { content: none } }
html, body { background: #fff }
"""


def style(title: str, first: int) -> str:
    """Say what stands above and below each page. `first`: the first one's number; 0 where none is shown."""
    words = {"BOOK": share.BOOK, "TITLE": title.replace("\\", "").replace('"', "”"), "FIRST": str(first)}
    text = STYLE.replace("NUMBER", "counter(page)" if first else "none")
    for word, what in words.items():
        text = text.replace(word, what)
    return text


@dataclass
class Printed:
    """A page of the book on paper, and where it begins in the whole."""

    title: str
    part: str
    page: str
    path: Path
    first: int
    reader: PdfReader

    @cached_property
    def names(self) -> dict[str, Destination]:
        """Places in it that links lead to."""
        return self.reader.named_destinations

    def place(self, name: str) -> tuple[int, Fit]:
        """Find a name: its page, counted from the book's first; the top of the first one if there is none."""
        found = self.names.get(f"/{name}")
        if not name or found is None:
            return self.first, Fit.fit_horizontally()
        number = self.reader.get_destination_page_number(found) or 0
        return self.first + number, Fit.xyz(top=float(found["/Top"]))


def contents(root: Path) -> list[tuple[str, str]]:
    """List part and name of each page that is printed.

    Not the landing page, whose cards the printed contents replace, and not the reference of the package's
    names: 350 pages to look things up in, which a screen does better.
    """
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    return [
        (part["caption"], page["file"])
        for part in toc["parts"]
        for entry in part["chapters"]
        for page in (entry, *entry.get("sections", ()))
        if not page["file"].startswith("chapters/api")
    ]


def asked(html: Path) -> dict[str, set[str]]:
    """Give for each page, by its address, the names in it that others link to."""
    found = defaultdict(set)
    for page in html.rglob("*.html"):
        for link in re.findall(r'href="([^"#:]+#[^"]+)"', page.read_text(encoding="utf-8")):
            address, name = urldefrag(urljoin(page.as_uri(), link))
            found[address].add(unquote(name))
    return found


def print_page(browser: Browser, html: Path, target: Path, first: int, names: set[str]) -> str:
    """Print a page of the book; return its title. `names`: those that others link to."""
    page = browser.new_page(viewport={"width": 1000, "height": 1200}, reduced_motion="reduce")
    # Without these two the page is what its author stored: no figure moves, and nothing asks for an answer.
    for script in ("attnlab", "questions"):
        page.route(f"**/{script}.js*", lambda route: route.abort())
    page.goto(html.as_uri())
    title = page.locator("article h1").first.evaluate(TITLE).removesuffix("#").strip()
    page.evaluate(PICTURES)
    page.evaluate(TARGETS, sorted(names))
    page.add_style_tag(content=style(title, first))
    page.pdf(path=target, prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
    page.close()
    return title


def relink(writer: PdfWriter, html: Path, resolve: Callable[[str, str], DictionaryObject | None]) -> None:
    """Lead links to the book's pages where `resolve` says, by address and name; drop those without."""
    for page in writer.pages:
        kept = ArrayObject()
        for reference in page.get("/Annots", ()):
            action = reference.get_object().get("/A", {})
            address, name = urldefrag(str(action.get("/URI", "")))
            if address.startswith(html.as_uri()):
                found = resolve(address, unquote(name))
                if found is None:
                    continue
                reference.get_object()[NameObject("/A")] = found
            kept.append(reference)
        if "/Annots" in page:
            page[NameObject("/Annots")] = kept


def finish_page(printed: Printed, html: Path, others: dict[str, Printed]) -> None:
    """Lead a page's links to other pages to their files, which lie beside it."""

    def beside(address: str, name: str) -> DictionaryObject | None:
        if address not in others:
            return None
        target = TextStringObject(name)
        if f"/{name}" not in others[address].names:
            target = ArrayObject([NumberObject(0), NameObject("/Fit")])
        return DictionaryObject(
            {
                NameObject("/S"): NameObject("/GoToR"),
                NameObject("/F"): TextStringObject(others[address].path.name),
                NameObject("/D"): target,
            }
        )

    writer = PdfWriter(clone_from=printed.reader)
    relink(writer, html, beside)
    writer.add_metadata({"/Title": printed.title, "/Author": AUTHOR})
    writer.write(printed.path)


def front(browser: Browser, pages: list[Printed], html: Path, target: Path) -> None:
    """Print the title and the contents, whose numbers are known when all else is printed."""
    parts: dict[str, list[str]] = {}
    for one in pages:
        link = f'<a href="{_source(html, one).as_uri()}">{escape(one.title)}</a>'
        parts.setdefault(one.part, []).append(f"<li>{link}<span>{one.first}</span></li>")
    lists = "".join(f"<h3>{escape(part)}</h3><ul>{''.join(lines)}</ul>" for part, lines in parts.items())
    drawn = drawings.drawing("why_attention")
    for role, colour in share.COLOURS.items():
        drawn = drawn.replace(f"var(--attn-{role})", colour)
    settings = yaml.safe_load((dev_setup.ROOT / "_config.yml").read_text(encoding="utf-8"))
    address = settings["repository"]["url"]
    said = {
        "DRAWING": drawn,
        "BOOK": share.BOOK,
        "AUTHOR": AUTHOR,
        "ADDRESS": "" if pages_setup.UNSET in address else f"{escape(address)}. ",
        "LIST": lists,
    }
    text = FRONT
    for word, what in said.items():
        text = text.replace(word, what)
    # From a file: a page without an address may not link to files.
    at = target.with_suffix(".html")
    at.write_text(text, encoding="utf-8")
    page = browser.new_page()
    page.goto(at.as_uri())
    page.add_style_tag(content=style("", 0))
    page.pdf(path=target, prefer_css_page_size=True, print_background=True)
    page.close()
    at.unlink()


def bind(opening: PdfReader, pages: list[Printed], html: Path, target: Path) -> None:
    """Make one book of all: its links stay within it, its bookmarks are parts, pages, sections."""
    writer = PdfWriter()
    before = len(opening.pages)
    writer.append(opening, import_outline=False)
    part, above = "", None
    for one in pages:
        own = _source(html, one).as_uri()
        for page in one.reader.pages:  # links within a page become links like any other
            for reference in page.get("/Annots", ()):
                annotation = reference.get_object()
                if "/Dest" in annotation:
                    name = str(annotation["/Dest"]).removeprefix("/")
                    annotation[NameObject("/A")] = _uri(f"{own}#{quote(name)}")
                    del annotation["/Dest"]
            page.pop("/StructParents", None)  # what screen readers go by stays in the PDF of each page
        writer.append(one.reader, import_outline=False)
        if one.part != part:
            part, above = (
                one.part,
                writer.add_outline_item(title=one.part, page_number=before + one.first - 1),
            )
        _bookmarks(writer, one, one.reader.outline, above, before - 1)
    book = {_source(html, one).as_uri(): one for one in pages}

    def within(address: str, name: str) -> DictionaryObject | None:
        if address not in book:
            return None
        number, fit = book[address].place(name)
        destination = Destination("", writer.pages[before + number - 1].indirect_reference, fit)
        return DictionaryObject(
            {NameObject("/S"): NameObject("/GoTo"), NameObject("/D"): destination.dest_array}
        )

    relink(writer, html, within)
    writer.set_page_label(0, before - 1, PageLabelStyle.LOWERCASE_ROMAN)
    writer.set_page_label(before, len(writer.pages) - 1, PageLabelStyle.DECIMAL)
    writer.add_metadata({"/Title": f"{share.BOOK}: attention from first principles", "/Author": AUTHOR})
    writer.write(target)


def _bookmarks(writer: PdfWriter, one: Printed, entries: list, above: object, shift: int) -> None:
    made = above
    for entry in entries:
        if isinstance(entry, list):
            _bookmarks(writer, one, entry, made, shift)
        else:
            number = one.first + (one.reader.get_destination_page_number(entry) or 0)
            made = writer.add_outline_item(
                title=entry.title,
                page_number=shift + number,
                parent=above,
                fit=Fit.xyz(top=float(entry.top or 0)),
            )


def _uri(address: str) -> DictionaryObject:
    return DictionaryObject(
        {NameObject("/S"): NameObject("/URI"), NameObject("/URI"): TextStringObject(address)}
    )


def _read(path: Path) -> PdfReader:
    # From memory: the file itself is written anew.
    return PdfReader(BytesIO(path.read_bytes()))


def _source(html: Path, one: Printed) -> Path:
    return html / f"{one.page}.html"


def print_book(browser: Browser, html: Path, target: Path, only: list[str] | None = None) -> list[Printed]:
    """Print the pages one after another: each begins with the number behind the last of the one before it."""
    target.mkdir(parents=True, exist_ok=True)
    names = asked(html)
    pages: list[Printed] = []
    for part, page in contents(dev_setup.ROOT):
        short = page.removeprefix("chapters/").replace("/", "-")
        if only and not short.endswith(tuple(only)):
            continue
        first = pages[-1].first + len(pages[-1].reader.pages) if pages else 1
        source, path = html / f"{page}.html", target / f"{short}.pdf"
        title = print_page(browser, source, path, first, names[source.as_uri()])
        pages.append(Printed(title, part, page, path, first, _read(path)))
        print(f"{path.name}: {len(pages[-1].reader.pages)} pages from page {first}", flush=True)
    others = {_source(html, one).as_uri(): one for one in pages}
    for one in pages:
        finish_page(one, html, others)
    return pages


def print_whole(browser: Browser, pages: list[Printed], html: Path, target: Path) -> Path:
    """Print what stands before the first page, and bind all into one book."""
    whole = target / f"{WHOLE}.pdf"
    front(browser, pages, html, whole)
    bind(_read(whole), pages, html, whole)
    return whole


def main() -> int:
    """Print what is built."""
    if not HTML.exists():
        print("the book is not built: make html", file=sys.stderr)
        return 1
    with dev_browser.started() as browser:
        pages = print_book(browser, HTML, TARGET, sys.argv[1:])
        if not sys.argv[1:]:
            whole = print_whole(browser, pages, HTML, TARGET)
            print(f"{whole.name}: {len(PdfReader(whole).pages)} pages, {whole.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What a link to a page shows where it is shared: a title, a line about it, and a picture.

The pictures are stored in _static/share, drawn by scripts/screenshot.py; each carries the digest of what
it was drawn from, so that a test can tell whether it still fits its page.
"""

from __future__ import annotations

import hashlib
import re
from html import escape, unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from attnlab_book import cards, chapters, drawings, playground

BOOK = "I Saw a Saw"
LINE = "Attention from first principles: figures to grab, notebooks that check your code, numbers computed."
TRAIN = "Train attention in the page, and watch it stop at the ceiling that its eyes allow."
PAINT = "Paint who may see whom, and read at once how good such attention can be at best."
FOLDER = "_static/share"
SIZE = (1200, 630)
COLOURS = {
    "query": "#0069a8", "key": "#b04a00", "value": "#00795a", "output": "#a0307a", "accent-line": "#c99a2e",
    "paper": "#fdfcf9", "ink": "#1d232b", "quiet": "#56606d", "line": "#dcd9d0",
}  # fmt: skip
"""The page's light colours, as _static/attnlab.css has them."""

STYLE = """
body { margin: 0; width: 1200px; height: 630px; box-sizing: border-box; padding: 64px 72px; overflow: hidden;
  display: grid; grid-template: auto 1fr auto / 1fr 520px; gap: 12px 48px;
  border-bottom: 16px solid var(--attn-accent-line);
  background: var(--attn-paper); color: var(--attn-ink);
  font-family: system-ui, "Noto Sans", "Liberation Sans", sans-serif; }
svg { grid-area: 1 / 2 / 4 / 3; align-self: center; width: 100%; }
b { font-size: 30px; color: var(--attn-quiet); font-weight: 600; }
h1 { font-size: 66px; line-height: 1.08; margin: 0; align-self: end; letter-spacing: -0.02em; }
p { font-size: 34px; line-height: 1.3; margin: 0; min-height: 4em; }
"""


def questions(root: Path) -> dict[str, str]:
    """Read each chapter's question from the landing page."""
    cells = chapters.cells_of(root / "chapters/index")
    table = "\n".join(cell.source for cell in cells if cell.kind == "markdown")
    return {topic: question for topic, question, _ in cards.rows(table)}


def lines(root: Path) -> dict[str, str]:
    """Give the line about a page: a chapter's question, and what one does in a laboratory."""
    return questions(root) | {"playground": TRAIN, "design": PAINT}


def pictures(root: Path) -> dict[str, str]:
    """Give the page to draw, as HTML, for each picture's name: a chapter's topic, or `book`."""
    asked = questions(root)
    found = {
        "book": _picture("why_attention", BOOK, "Attention from first principles"),
        "playground": _picture("playground", "Playground", TRAIN),
        "design": _picture("design", "Design your own attention", PAINT),
    }
    for chapter in chapters.read(root):
        if chapter.number is not None:
            title = f"{chapter.label} {chapter.title}"
            found[chapter.topic] = _picture(chapter.topic, title, asked[chapter.topic])
    return found


def _picture(topic: str, title: str, line: str) -> str:
    roles = ";".join(f"--attn-{role}:{colour}" for role, colour in COLOURS.items())
    return (
        f"<!DOCTYPE html><style>:root{{{roles}}}{STYLE}</style>"
        f"<b>{BOOK}</b><h1>{escape(title)}</h1><p>{escape(line)}</p>{drawings.drawing(topic)}"
    )


def digest(picture: str) -> str:
    """Name what a picture was drawn from."""
    return hashlib.sha256(picture.encode()).hexdigest()[:16]


def add_tags(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give every page a description, and what a shared link shows."""
    if not hasattr(app, "attnlab_lines"):
        app.attnlab_lines = lines(Path(app.srcdir))  # type: ignore[attr-defined]
    pages = {one.page: one.topic for one in app.env.attnlab_chapters} | {
        page: name for name, page in playground.PAGES.items()
    }  # type: ignore[attr-defined]
    topic = pages.get(pagename, "book")
    home = pagename == app.config.root_doc
    title = BOOK if home else _text(context.get("title", BOOK))
    about = app.attnlab_lines.get(topic, LINE)  # type: ignore[attr-defined]
    address = app.config.html_baseurl.rstrip("/")
    width, height = SIZE
    said = {
        "og:type": "website" if home else "article",
        "og:site_name": BOOK,
        "og:title": title,
        "og:description": about,
    }
    if address:  # without one there is no page to name, and a picture is asked for by its whole address
        said |= {
            "og:url": f"{address}/{pagename}.html",
            "og:image": f"{address}/{FOLDER}/{topic}.png",
            "og:image:width": str(width),
            "og:image:height": str(height),
            "og:image:alt": f"A drawing for “{title}”",
        }
    tags = [f'<meta name="description" content="{escape(about)}">']
    tags += [f'<meta property="{name}" content="{escape(value)}">' for name, value in said.items()]
    tags.append('<meta name="twitter:card" content="summary_large_image">')
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)


def _text(title: str) -> str:
    # A page's title may hold markup: `<code>`, or the number's span.
    return unescape(re.sub(r"<[^>]+>", "", title))

"""Mends what the theme and its companions put into each page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.config import Config

from attnlab_book import assets, bundle, numbering, stills

FIGURE = re.compile(r'<figure[^>]* data-attnlab="(\w+)"')
"""A live figure as a page has it, with its name."""
HOST = "attnlab.js"
"""The script that mounts figures."""
OFF_BY = re.compile(r"(?<=[\d%]) ± (?=\d)")
PER_CENT = re.compile(r"(?<=\d) (?=%[^<>]*<(?:/?(?:p|li|em|strong|a|summary|small)|span|code)\b)")
"""The space before a sign of per cent that stands in prose."""
BEFORE_A_SIGN = re.compile(
    r'(<span class="math[^"]*">(?:(?!</math>).)*</math></span>)([,.;:?!)’]+)', re.DOTALL
)
UNSET = "OWNER"
"""Who owns the repository until `make address` has said it: what leads there is not shown."""
LICENCES = "chapters/licences"
LEAD_THERE = ("launch-buttons", "source-buttons")
"""The theme's buttons that open or show what is in the repository."""
AIMS = re.compile(
    r'<div class="objectives admonition">\s*<p class="admonition-title">(.*?)</p>\s*'
    r"(<p>(?:[^<]*\. )?(About [^<]*? minutes) to (?:play and )?read.*?</ul>)\s*</div>",
    re.DOTALL,
)
"""What a chapter is for: its heading, all of it, and the minutes that it takes."""
FOLDS = re.compile(r"<details\b.*?</details>", re.DOTALL)
HEADING = re.compile(r"<(h[1-3])>.*?</\1>", re.DOTALL)
WITH_HYPHENS = re.compile(r"(<[^>]*>)|\b[^\W\d_]+(?:-[^\W\d_]+)+\b")
WITH_ROOM = ("</figcaption></figure>", "</small></p>", "</details>")
"""How an output ends that has room at the end of its last line."""
SIDE_BY_SIDE = 50
"""Letters that a prediction's answers may have together, to stand in one line of a wide page."""
FIRST_SCREEN = 4000
"""Letters of a page, tags and all, that may stand on its first screen."""


def set_theme_options(app: Sphinx, config: Config) -> None:
    """Set what Jupyter Book has no key for.

    `html_theme_options` below `sphinx: config:` would replace Jupyter Book's own and lose the Colab and
    Binder buttons.
    """
    owner, name = config.html_theme_options["repository_url"].rstrip("/").split("/")[-2:]
    if not config.html_baseurl and owner != UNSET:
        # Where the book is published, from the one setting that says where its repository is.
        config.html_baseurl = f"https://{owner.lower()}.github.io/{name}/"
    config.html_theme_options.update(
        {
            "search_bar_text": "Search this book",
            "show_toc_level": 2,
            "use_fullscreen_button": False,
            # The sidebar holds the search; the theme's bar across the top would repeat it.
            "navbar_start": [],
            "navbar_center": [],
            "navbar_end": [],
            "navbar_persistent": [],
            "header_links_before_dropdown": 0,
        }
    )


def drop_thebe_nodes(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Remove the settings of live code cells that sphinx-thebe adds to every page."""
    for node in list(doctree.findall(nodes.raw)):
        if "x-thebe-config" in node.astext():
            node.parent.remove(node)


def arrange_cells(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Move folded code behind what it shows, as the text says; mark where it has room, and figures.

    What a chapter gives to take along is no small print: its fold says what it holds.
    """
    for cell in doctree.findall(nodes.container):
        if "tag_hide-input" in cell["classes"]:
            cell.children.sort(key=lambda part: "cell_output" not in part["classes"])
            shown = [node for node in cell[0].findall() if isinstance(node, (nodes.raw, nodes.literal_block))]
            if shown and isinstance(shown[-1], nodes.raw) and shown[-1].astext().rstrip().endswith(WITH_ROOM):
                cell["classes"].append("has-room")
            if "tag_take-it-with-you" in cell["classes"]:
                (fold,) = cell.findall(HideCodeCellNode)
                (code,) = fold.findall(nodes.literal_block)
                fold["prompt_show"] = f"The code, {len(code.astext().splitlines())} lines"
        if "cell" in cell["classes"] and any(FIGURE.search(x.astext()) for x in cell.findall(nodes.raw)):
            cell["classes"].append("has-figure")


def name_first_figure(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give the place of a page's first figure a name: the prediction above it, which is read first."""
    above = None
    for node in doctree.findall(nodes.Element):
        if "predict" in node.get("classes", []):
            above = node
        elif "has-figure" in node.get("classes", []):
            (node if above is None else above)["ids"].append(numbering.FIRST_FIGURE)
            return


def mark_short_answers(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Mark a prediction whose answers find room side by side; a figure has the room that this saves."""
    for box in doctree.findall(nodes.admonition):
        if "predict" not in box["classes"]:
            continue
        written = "".join(node.astext() for node in box.findall(nodes.raw))
        answers = re.findall(r"<summary>(.*?)</summary>", written, flags=re.DOTALL)
        if sum(len(re.sub(r"<[^>]*>", "", answer)) for answer in answers) <= SIDE_BY_SIDE:
            box["classes"].append("short")


def guard_returns(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Keep the text below `Returns:` text.

    Napoleon takes everything before a colon there for a type. Here types are in the annotations, so the line
    starts with an empty one.
    """
    for before, at in zip(lines, range(1, len(lines)), strict=False):
        if before.strip() in ("Returns:", "Yields:"):
            text = lines[at].lstrip()
            lines[at] = lines[at][: len(lines[at]) - len(text)] + ": " + text


def keep_bars(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Keep |x| the size of x: between two bars reStructuredText looks for the name of a substitution."""
    example = False
    for at, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            parts = re.split(r"(`+[^`]*`+)", line)  # what stands between backticks is safe
            lines[at] = "".join(part if part[:1] == "`" else part.replace("|", r"\|") for part in parts)


def mend_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Drop the scripts that a page must not load, and what browsers and screen readers would trip over."""
    body = AIMS.sub(_folded, context.get("body", ""), count=1)
    figures = FIGURE.findall(body)
    landing = pagename == app.config.root_doc
    has = {"has-figures": figures, "has-playground": "playground" in figures, "is-landing": landing}
    context["attn_has"] = [name for name, true in has.items() if true]
    scripts = {(_name(script), _text(script)): script for script in context["script_files"]}
    context["script_files"] = [
        _when_the_text_stands(script) for script in scripts.values() if not _unwanted(script, body)
    ]
    if "pathto" in context:
        early = context.get("metatags", "")
        if figures:
            address = context["pathto"](f"_static/figures/{figures[0]}.js", 1) + f"?v={assets.version(app)}"
            early += f'\n<link rel="preload" as="script" href="{address}">'
        if "<math" in FOLDS.sub("", body[: 4 * FIRST_SCREEN])[:FIRST_SCREEN]:
            # A formula that changes its face changes its width: what is read would move.
            early += '\n<meta name="attn-formulas">'
        context["metatags"] = early
        footer = context.get("theme_extra_footer") or ""
        footer = footer.replace("LICENCES", context["pathto"](LICENCES))
        if app.config.html_baseurl:
            repository = app.config.html_theme_options["repository_url"].rstrip("/")
            footer += f'\n<p><a href="{repository}/discussions">Ask about this page, or discuss it</a></p>'
        context["theme_extra_footer"] = footer
    if not app.config.html_baseurl:
        context["header_buttons"] = [
            group for group in context.get("header_buttons", []) if group.get("label") not in LEAD_THERE
        ]
    if landing:
        # Its title is the book's: once is enough.
        context["title"], context["docstitle"] = app.config.html_title, ""
        # Its sections need no list beside them: the cards and the figure have the room.
        context["meta"] = {**(context.get("meta") or {}), "html_theme.sidebar_secondary.remove": True}
    if "body" in context:
        # A list whose children are no list items, entries with a role that ARIA has dropped.
        body = body.replace('<div role="list" class="citation-list">', '<div class="citation-list">')
        body = re.sub(r' role="doc-(biblioentry|backlink)"', "", body)
        # The corner of a table is no header; the text of a summary is its name.
        body = re.sub(r'<th class="head[^"]*"><p></p></th>', "<td></td>", body)
        body = body.replace('<summary aria-label="Toggle hidden content">', "<summary>")
        # A number and what it may be off by are one word, in the narrowest column too; so is one and its %.
        body = re.sub(r"<td[^>]*>[^<]*</td>", lambda cell: OFF_BY.sub("\u00a0±\u00a0", cell[0]), body)
        body = PER_CENT.sub("\u00a0", body)
        body = HEADING.sub(lambda heading: WITH_HYPHENS.sub(_tied, heading[0]), body)
        # Browsers break a line between a formula and the comma behind it.
        body = BEFORE_A_SIGN.sub(r'<span class="attn-tied">\1\2</span>', body)
        if "pathto" in context:
            body = stills.show(body, Path(app.srcdir), context["pathto"](stills.FOLDER, 1))
        context["body"] = body


def _folded(aims: re.Match[str]) -> str:
    """Put what a chapter is for into one line that opens: the question behind it draws a reader in."""
    title, said, minutes = aims.groups()
    return (
        '<details class="objectives"><summary>'
        f'<span class="attn-closed">{minutes}; afterwards you can …</span>'
        f'<span class="attn-opened">{title}</span></summary>\n{said}\n</details>'
    )


def _tied(word: re.Match[str]) -> str:
    """Keep a word with hyphens in one line of its heading."""
    return word[0] if word[1] else f'<span class="attn-tied">{word[0]}</span>'


def _name(script: Any) -> str:
    return str(getattr(script, "filename", script) or "")


def _text(script: Any) -> str:
    return str(getattr(script, "attributes", {}).get("body") or "")


def _when_the_text_stands(script: Any) -> Any:
    """Return a script as one that holds no page up; the figures' host is the first to run."""
    if not _name(script) or bundle.OPTIONS in _name(script):
        return script
    priority = 0 if HOST in _name(script) else script.priority
    return type(script)(script.filename, priority=priority, **{"defer": "defer", **script.attributes})


def _unwanted(script: Any, body: str) -> bool:
    name, text = _name(script), _text(script)
    # sphinx-thebe names a script host and declares its constant twice, which is an error in the console;
    # MyST-NB brings MathJax, but formulas are set already; the book has a search of its own, and theme.js.
    strange = (
        "thebe",
        "THEBE_JS",
        "require.js",
        "://",
        "mathjax",
        "MathJax",
        "sphinx_highlight",
        "doctools",
        "sphinx-book-theme",
    )
    needed = {
        "clipboard.": "<pre",
        "copybutton.": "<pre",
        "togglebutton": "dropdown",
        "design-tabs": "sd-tab",
    }
    needless = [part for part, sign in needed.items() if sign not in body]
    return any(part in name or part in text for part in strange) or any(part in name for part in needless)


def write_root_page(app: Sphinx, exception: Exception | None) -> None:
    """Write the page that leads from the book's address to its first page, in valid HTML."""
    if exception or app.builder.name != "html":
        return
    root = f"{app.config.root_doc}.html"
    title = app.config.html_title
    Path(app.outdir, "index.html").write_text(
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="refresh" content="0; url={root}"></head>\n'
        f'<body><main><h1>{title}</h1><p><a href="{root}">Open the book</a></p></main></body></html>\n',
        encoding="utf-8",
    )

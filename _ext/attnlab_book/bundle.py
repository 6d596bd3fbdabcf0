"""Gives every page one style sheet, cut down to what the pages use, and lets no script hold a page up.

The theme and its companions bring twelve sheets, most of them rules for what this book doesn't have. A rule
stays when each class, name and element of its selector is in a page, or is a word of a script, which may
put it there.

>>> cut(".used{color:red} .unused,.used em{margin:0} @media print{.unused{margin:0}}", {"used", "em"})
'.used{color:red}.used em{margin:0}'
"""

from __future__ import annotations

import os
import posixpath
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import tinycss2
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

SHEET = "_static/book.css"
OPTIONS = "documentation_options.js"
THEMES = ("bootstrap.js", "pydata-sphinx-theme.js", "sphinx-book-theme.js")
"""Scripts in whose place theme.js stands."""
STRANGE = (*THEMES, "fontawesome.js", "language_data.js", "searchtools.js")
"""Scripts that no page loads, or that hold no names of classes."""

LINK = re.compile(r'[ \t]*<link\b[^>]*\brel="stylesheet"[^>]*>\n?')
COLOURS = re.compile(r'<script data-cfasync="false">.*?</script>', re.DOTALL)
"""The theme's first script: it leaves a new reader without colours until its last one runs."""
OF_THEMES = re.compile(rf'<script[^>]*\bsrc="[^"]*/(?:{"|".join(map(re.escape, THEMES))})[^"]*"></script>\n?')
NAMES = re.compile(r'<([a-z][\w-]*)|\b(?:class|id)="([^"]*)"')
WORD = re.compile(r"[A-Za-z_][\w-]*")
URL = re.compile(r"""url\((["']?)(?!data:|#)([^)"']+)\1\)""")
IMPORT = re.compile(r"""@import (?:url\()?["']?([^"')]+)["']?\)?;""")
VARIABLE = re.compile(r"--[\w-]+")


def cut(text: str, used: set[str]) -> str:
    """Return a style sheet without the rules that no page can use.

    Args:
        text: the sheet.
        used: every class, name and element.
    """
    return _rules(tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True), used)


def _rules(rules: list[Any], used: set[str]) -> str:
    kept = ""
    for rule in rules:
        if rule.type == "error":
            raise ExtensionError(f"a style sheet can't be read in line {rule.source_line}: {rule.message}")
        if rule.type == "qualified-rule":
            selectors = [one for one in _selectors(rule.prelude) if set(_named(one)) <= used]
            if selectors and (body := _declarations(rule.content)):
                kept += ",".join(tinycss2.serialize(one).strip() for one in selectors) + f"{{{body}}}"
        elif rule.content is not None and rule.lower_at_keyword in ("media", "supports"):
            inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            if body := _rules(inner, used):
                kept += f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{body}}}"
        elif rule.lower_at_keyword != "charset":
            kept += rule.serialize()
    return kept


def _selectors(prelude: list[Any]) -> list[list[Any]]:
    found: list[list[Any]] = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            found.append([])
        else:
            found[-1].append(token)
    return found


def _named(selector: list[Any]) -> list[str]:
    """Return the classes, names and elements that a selector asks for, outside brackets."""
    before = [None, *selector]
    return [
        token.value
        for token, last in zip(selector, before, strict=False)
        if token.type == "hash" or (token.type == "ident" and not (last and last == ":"))
    ]


def _declarations(content: list[Any]) -> str:
    declared = tinycss2.parse_declaration_list(content, skip_comments=True, skip_whitespace=True)
    return ";".join(
        f"{one.name}:{tinycss2.serialize(one.value).strip()}{'!important' * one.important}"
        for one in declared
        if one.type == "declaration"
    )


def without_variables(sheet: str, named: set[str]) -> str:
    """Return a style sheet of `cut` without the custom properties that nothing asks for.

    >>> without_variables(":root{--a:1px;--b:var(--c);--c:2px}p{margin:var(--a)}", set())
    ':root{--a:1px}p{margin:var(--a)}'
    """
    while True:
        asked = named | set(re.findall(r"var\(\s*(--[\w-]+)", sheet))
        less = re.sub(
            r"(?<=[{;])(--[\w-]+):(?:[^;{}\"']|\"[^\"]*\"|'[^']*')*(?:;|(?=\}))",
            lambda found, asked=asked: found[0] if found[1] in asked else "",
            sheet,
        ).replace(";}", "}")
        if less == sheet:
            return sheet
        sheet = re.sub(r"(?<=[{}])[^{}@]+\{\}|^[^{}@]+\{\}", "", less)


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the one sheet, and name it in every page instead of the others."""
    if exception or app.builder.format != "html":
        return
    root = Path(app.outdir)
    files = [path for path in root.rglob("*.html") if "_static" not in path.parts]
    pages = {path: path.read_text(encoding="utf-8") for path in files}
    # An incremental build writes only some pages again; the others name the one sheet already.
    lists = {tuple(_sheets(path, text)) for path, text in pages.items()} - {(), (root / SHEET,)}
    if not lists:
        return
    if len(lists) > 1:
        raise ExtensionError(f"all pages must name the same style sheets; there are lists of {lists}")
    scripts = [
        path.read_text(encoding="utf-8")
        for path in root.glob("_static/**/*.js")
        if path.name not in STRANGE and path.parent.name != "models"
    ]
    used = {
        name for text in pages.values() for found in NAMES.findall(text) for name in " ".join(found).split()
    }
    used.update(word for script in scripts for word in WORD.findall(script))
    named = {name for text in (*pages.values(), *scripts) for name in VARIABLE.findall(text)}
    (sheets,) = lists
    sheet = without_variables("".join(_moved(root / SHEET, path, used) for path in sheets), named)
    beside = (root / SHEET).parent
    sheet = (
        f"/* What the pages use of {', '.join(os.path.relpath(path, beside) for path in sheets)} */\n{sheet}"
    )
    (root / SHEET).write_text(sheet, encoding="utf-8")
    version = sha256(sheet.encode()).hexdigest()[:8]
    options = (root / "_static" / OPTIONS).read_text(encoding="utf-8")
    asked = re.compile(rf'<script src="[^"]*{OPTIONS}[^"]*"></script>')
    first = Path(__file__).with_name("first.js").read_text(encoding="utf-8")
    for path, text in pages.items():
        address = posixpath.relpath(SHEET, path.parent.relative_to(root).as_posix())
        links = iter([f'<link rel="stylesheet" href="{address}?v={version}">\n'])
        mended = LINK.sub(lambda _, links=links: next(links, ""), text)
        # Other scripts wait until the page stands; this one is short, and the page itself asks it.
        mended = asked.sub(lambda _: f"<script>{options}</script>", mended)
        mended = COLOURS.sub(lambda _: f"<script>{first}</script>", OF_THEMES.sub("", mended))
        if mended != text:
            path.write_text(mended, encoding="utf-8")


def _sheets(page: Path, text: str) -> list[Path]:
    links = [re.search(r'\bhref="([^"?]*)', link) for link in LINK.findall(text)]
    return [Path(os.path.normpath(page.parent / link[1])) for link in links if link]


def _moved(to: Path, path: Path, used: set[str]) -> str:
    """Return what stays of a sheet, with the addresses in it as seen from another file."""

    def address(found: re.Match[str]) -> str:
        file, mark, rest = re.split("([?#]|$)", found[2], maxsplit=1)
        return f'url("{os.path.relpath(path.parent / file, to.parent)}{mark}{rest}")'

    text = path.read_text(encoding="utf-8")
    imported = [path.parent / name for name in IMPORT.findall(text)]
    kept = "".join(_moved(to, other, used) for other in imported) + cut(
        URL.sub(address, IMPORT.sub("", text)), used
    )
    # A font that was left out of the book is none to look for.
    return re.sub(r"@font-face\s*\{[^}]*\}", lambda face: face[0] * _has_file(to.parent, face[0]), kept)


def _has_file(folder: Path, face: str) -> bool:
    """Tell whether a face has a file: one in the book, or one that the reader's machine may have."""
    return (
        any((folder / name).is_file() for _, name in URL.findall(face)) or "data:" in face or "local(" in face
    )

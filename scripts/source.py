"""Says where the book is, and what stands on everything of it that is handed on: its name, place and terms.

>>> note("", "chapters/01_one")
'From *I Saw a Saw: attention from first principles*, by the attnlab authors. Text and pictures: \
[CC BY 4.0](https://creativecommons.org/licenses/by/4.0/). Code: MIT.'
>>> note("ada/notes", "chapters/01_one").split(".")[0]
'From [I Saw a Saw: attention from first principles](https://ada'
"""

from __future__ import annotations

import re
from pathlib import Path

from attnlab_book.pages import UNSET

TITLE = "I Saw a Saw: attention from first principles"
PEOPLE = "the attnlab authors"
TEXT_LICENCE = "[CC BY 4.0](https://creativecommons.org/licenses/by/4.0/)"
SETTING = re.compile(r"^repository:\n  url: https://github\.com/(\S+)$", re.MULTILINE)


def current(root: Path) -> str:
    """Read the one setting that says where the repository is.

    Raises:
        ValueError: _config.yml has no address where it should have one.
    """
    found = SETTING.search((root / "_config.yml").read_text(encoding="utf-8"))
    if not found:
        raise ValueError(
            "_config.yml must have `repository:` and below it `  url: https://github.com/OWNER/NAME`"
        )
    return found[1]


def is_set(root: Path) -> bool:
    """Say whether `current` is an address, and not the stand-in for one."""
    return current(root).split("/")[0] != UNSET


def address(root: Path) -> str:
    """Give the repository's address; an empty text while it has none."""
    return current(root) if is_set(root) else ""


def pages(address: str) -> str:
    """Say where the book of a repository is published."""
    owner, name = address.split("/")
    return f"{owner.lower()}.github.io/{name}"


def note(address: str, page: str) -> str:
    """Write, in Markdown, what a notebook or a deck of slides says of its source.

    Args:
        address: the repository, as owner/name; an empty text links to nothing.
        page: the page of the book that it was made from, without a suffix.
    """
    book = f"[{TITLE}](https://{pages(address)}/{page}.html)" if address else f"*{TITLE}*"
    code = f"[MIT](https://github.com/{address}/blob/main/LICENSE)" if address else "MIT"
    return f"From {book}, by {PEOPLE}. Text and pictures: {TEXT_LICENCE}. Code: {code}."

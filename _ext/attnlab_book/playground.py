"""Links that open the playground, or the page on which one designs attention, as a sentence speaks of it.

``{playground}`side by side <{"b": {"positions": "rotary"}}>` `` is a link to the figure with this state in
its address, as *Copy link* of the figure would make it. ``{design}`this one <{"layers": [[-1]]}>` `` is
another.

>>> split('both <{"b": {}}>')
('both', {'b': {}})
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from docutils import nodes

PAGES = {"playground": "chapters/playground", "design": "chapters/design"}
"""The pages, by the role that links to them."""
PLACES = {"playground": "train-it", "design": "figure-design"}
"""Where on its page a figure stands, below the question: a link asks its own."""
WRITTEN = re.compile(r"(.+?)\s*<(\{.*\})>", re.DOTALL)


def split(text: str) -> tuple[str, dict[str, Any]]:
    """Part what a link says from the state it opens.

    Raises:
        ValueError: there is no state, or it is no JSON.
    """
    found = WRITTEN.fullmatch(text)
    if not found:
        raise ValueError(f"write `text <{{state}}>`, got {text!r}")
    return found[1], json.loads(found[2])


def role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Make the link."""
    try:
        words, state = split(text)
    except ValueError as error:
        problem = inliner.reporter.error(f"{{{name}}}: {error}", line=lineno)
        return [nodes.Text(text)], [problem]
    env = inliner.document.settings.env
    page = env.app.builder.get_relative_uri(env.docname, PAGES[name])
    address = f"{page}?{name}={quote(json.dumps(state, separators=(',', ':')))}#{PLACES[name]}"
    return [nodes.reference(rawtext, words, internal=False, refuri=address)], []

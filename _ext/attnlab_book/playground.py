"""Links that open the playground in the state that a sentence speaks of.

``{playground}`side by side <{"b": {"positions": "rotary"}}>` `` is a link to the figure with this state in
its address, as *Copy link* of the figure would make it.

>>> split('both <{"b": {}}>')
('both', {'b': {}})
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from docutils import nodes

PAGE = "chapters/playground"
PLACE = "train-it"
"""Where on the page it stands, below the question: a link asks its own."""
WRITTEN = re.compile(r"(.+?)\s*<(\{.*\})>", re.DOTALL)


def split(text: str) -> tuple[str, dict[str, Any]]:
    """Part what a link says from the state it opens.

    Raises:
        ValueError: there is no state, or it is no JSON.
    """
    found = WRITTEN.fullmatch(text)
    if not found:
        raise ValueError(f"write {{playground}}`text <{{state}}>`, got {text!r}")
    return found[1], json.loads(found[2])


def role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Make the link."""
    try:
        words, state = split(text)
    except ValueError as error:
        problem = inliner.reporter.error(f"{{playground}}: {error}", line=lineno)
        return [nodes.Text(text)], [problem]
    env = inliner.document.settings.env
    page = env.app.builder.get_relative_uri(env.docname, PAGE)
    address = f"{page}?playground={quote(json.dumps(state, separators=(',', ':')))}#{PLACE}"
    return [nodes.reference(rawtext, words, internal=False, refuri=address)], []

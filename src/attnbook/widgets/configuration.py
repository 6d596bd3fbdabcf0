"""A model's configuration, field by field: what each means, its section, and what all say together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import traitlets

from attnbook import census, configuration, reading
from attnbook.rules import RULES
from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure

OFFERED = (
    "gpt2",
    "llama",
    "mistral",
    "deepseek_v32",
    "deepseek_v4",
    "gemma3n_text",
    "gpt_oss",
    "jamba",
    "kimi_linear",
    "llama4_text",
    "mamba2",
)
"""Checkpoints of the census whose configurations the page brings along."""
NOTE = (
    "An example has the layers, heads, windows, positions and longest text of its checkpoint; "
    "other fields are its class's defaults."
)
"""What is said beside an example."""
LONGEST = 1_000_000
"""Characters that are read."""


def text_of(config: Mapping[str, Any]) -> str:
    """Write a configuration as a `config.json` has it, a field a line.

    >>> print(text_of({"n_head": 2, "layer_types": ["full", "full"]}))
    {
      "n_head": 2,
      "layer_types": ["full", "full"]
    }
    """
    lines = (
        f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in config.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}"


@cache
def data(where: Any = None) -> str:
    """Return what the page needs beside the figure, as JSON: rules, examples, and what fields mean.

    Args:
        where: gives the name and the address of a section, for a chapter's topic and its heading; without
            it both are told as they are, and nothing is linked.
    """
    where = where or (lambda topic, label: (f"{topic.replace('_', ' ')}: {label}", ""))
    fields: dict[tuple[str, ...], list[str]] = {}
    for field in census.fields():
        section = where(field["topic"], field["label"]) if field["topic"] else ("", "")
        fields.setdefault((field["means"], *section), []).append(field["name"])
    examples = [[census.checkpoint(name)["checkpoint"], text_of(census.published(name))] for name in OFFERED]
    held = {
        "rules": RULES,
        "note": NOTE,
        "examples": examples,
        "fields": [[*told, sorted(names)] for told, names in fields.items()],
    }
    return json.dumps(held, ensure_ascii=False, separators=(",", ":"))


class Configuration(Figure):
    """Read a configuration: every field with its meaning and its section, and what they say together.

    Args:
        config: the fields; or an object that gives them by `to_dict`; or the text of a `config.json`, or its
            `Path`; or a model of the census, as "gpt_oss", with the numbers of its checkpoint where one is
            known.

    Raises:
        TypeError: it is none of these.
        ValueError: the text is no JSON object, or longer than a million characters.

    >>> Configuration({"n_layer": 2, "n_head": 4, "n_embd": 64}).bytes_a_token
    512
    """

    _esm = STATIC / "configuration.js"
    name = "configuration"
    state = ("text",)
    text = traitlets.Unicode().tag(sync=True)
    data = traitlets.Unicode().tag(sync=True)

    def __init__(self, config: Any = "gpt_oss") -> None:
        if isinstance(config, Path):
            config = config.read_text(encoding="utf-8")
        elif hasattr(config, "to_dict"):
            config = config.to_dict()
        if not isinstance(config, str | Mapping):
            raise TypeError(f"config must be fields, a text or a Path, got a {type(config).__name__}")
        if isinstance(config, str) and config.strip()[:1] not in ("{", "[", ""):
            config = census.published(config)
        text = config if isinstance(config, str) else text_of(config)
        if len(text) > LONGEST:
            raise ValueError(f"config must have at most {LONGEST:,} characters, got {len(text):,}")
        super().__init__(text=text, data=data())
        self.config()

    def config(self) -> dict[str, Any]:
        """Return the fields.

        Raises:
            ValueError: the text is no JSON object.
        """
        try:
            found = json.loads(self.text)
        except ValueError as error:
            raise ValueError(f"config must be JSON: {error}") from None
        if not isinstance(found, dict):
            raise ValueError(f"config must be an object with fields, got a {type(found).__name__}")
        return found

    @property
    def bytes_a_token(self) -> int | None:
        """Bytes that a token adds to the cache past all windows, two a number; None if unknown."""
        return reading.token_bytes(configuration.read(self.config()))

    def table(self) -> str:
        """Return what the fields say together, and each field, as an HTML table."""
        rows = [
            [what, "; ".join(said), "computed from the fields", ""]
            for what, said in reading.summary(configuration.read(self.config()))
        ]
        rows += _rows(self.config(), "", {field["name"]: field for field in census.fields()})
        return table_of(["field", "value", "what it means", "section"], rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "What the fields of a config.json mean, one by one and together."


def _rows(config: Mapping[str, Any], path: str, known: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """List the fields; in a part that is not read a name may mean something else, and gets no meaning."""
    out = []
    for name, value in config.items():
        field = known.get(name, {"means": "", "topic": "", "label": ""})
        said = "a part" if isinstance(value, dict) else json.dumps(value, ensure_ascii=False)
        out.append(
            [
                f"{path}{name}",
                said if len(said) < 160 else f"{said[:160]}…",
                field["means"],
                field["label"] or "not in this book",
            ]
        )
        if isinstance(value, dict):
            is_read = "rope_" in f"{path}{name}" or name in (*RULES["inside"], *RULES["parts"])
            out += _rows(value, f"{path}{name}.", known if is_read else {})
    return out

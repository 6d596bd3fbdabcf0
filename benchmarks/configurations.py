"""The default configurations of the census's models: every field, as their library writes it.

The page "Read a configuration" offers a few of them, and its tests read all. What every configuration of the
library has is left out where it says nothing of the model. Each class is made once more with twice as many
heads: a number that is then the same is the class's own, and one that follows the heads is derived, though at
one size both may agree. The packages to run it with are in benchmarks/requirements.txt:

    python benchmarks/configurations.py      writes results/configurations.json, in seconds
"""

from __future__ import annotations

import json
import logging
import warnings
from typing import Any

import census
import transformers
from huggingface_hub.errors import StrictDataclassError

from attnbook import results
from attnbook.fields import numbers
from attnbook.rules import RULES

COMMAND = "python benchmarks/configurations.py"
SAID = ("model_type", "is_encoder_decoder")
"""Fields of every configuration that say something of the model."""


def fields(configuration: Any, common: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration's fields in their order, its type first, without what every one has."""
    # What is not finite becomes a text: results hold JSON, which has no such numbers.
    whole = json.loads(json.dumps(configuration.to_dict(), default=str), parse_constant=str)
    told = {name: value for name, value in whole.items() if name not in common and name[0] != "_"}
    return {"model_type": whole["model_type"]} | told | {name: whole[name] for name in SAID if whole[name]}


def wider(configuration: Any) -> dict[str, Any] | None:
    """Return heads, heads of keys and widths of a class with twice the heads, or None if it makes none."""
    told = configuration.to_dict()
    twice = {name: 2 * told[name] for name in RULES["heads"] if isinstance(told.get(name), int)}
    if not twice:
        return None
    try:
        found = numbers(type(configuration)(**twice).to_dict())[0]
    except StrictDataclassError:  # its own check refuses that
        return None
    return {what: found[what] for what in ("heads", "kept", "head", "width")}


def main() -> None:
    """Store the configurations."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    results.begin()
    common = transformers.PretrainedConfig().to_dict()
    found = {model.name: model.text for model in census.models([]) if model.text is not None}
    told = {name: fields(text, common) for name, text in found.items()}
    twice = {name: wider(text) for name, text in found.items()}
    stored = {"release": transformers.__version__, "configurations": told, "twice the heads": twice}
    results.store("configurations", stored, command=COMMAND, packages=("transformers",))


if __name__ == "__main__":
    main()

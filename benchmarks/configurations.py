"""The default configurations of the census's models: every field, as their library writes it.

The page "Read a configuration" offers a few of them, and its tests read all. What every configuration of the
library has is left out where it says nothing of the model. The packages to run it with are in
benchmarks/requirements.txt:

    python benchmarks/configurations.py      writes results/configurations.json, in seconds
"""

from __future__ import annotations

import json
import logging
import warnings
from typing import Any

import census
import transformers

from attnbook import results

COMMAND = "python benchmarks/configurations.py"
SAID = ("model_type", "is_encoder_decoder")
"""Fields of every configuration that say something of the model."""


def fields(configuration: Any, common: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration's fields in their order, its type first, without what every one has."""
    # What is not finite becomes a text: results hold JSON, which has no such numbers.
    whole = json.loads(json.dumps(configuration.to_dict(), default=str), parse_constant=str)
    told = {name: value for name, value in whole.items() if name not in common and name[0] != "_"}
    return {"model_type": whole["model_type"]} | told | {name: whole[name] for name in SAID if whole[name]}


def main() -> None:
    """Store the configurations."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    results.begin()
    common = transformers.PretrainedConfig().to_dict()
    found = {model.name: model.text for model in census.models([]) if model.text is not None}
    told = {name: fields(text, common) for name, text in found.items()}
    numbers = {"release": transformers.__version__, "configurations": told}
    results.store("configurations", numbers, command=COMMAND, packages=("transformers",))


if __name__ == "__main__":
    main()

"""What the book needs beyond torch: importing this module says plainly which of it is missing.

Attention itself needs torch alone. The modules that draw, train, grade and load data import this one first.
"""

from importlib.util import find_spec

NEEDS = (
    "anywidget",
    "conllu",
    "gguf",
    "IPython",
    "ipywidgets",
    "matplotlib",
    "numpy",
    "safetensors",
    "tokenizers",
    "tqdm",
    "traitlets",
)
"""The packages of `attnlab[book]` in pyproject.toml, under the names they are imported by."""

missing = [name for name in NEEDS if find_spec(name) is None]
if missing:
    raise ImportError(
        f'this part of attnlab needs {", ".join(missing)}, which the book brings: pip install "attnlab[book]"'
    )

from IPython.display import display  # noqa: E402 - only once it is known to be there

__all__ = ["NEEDS", "display"]

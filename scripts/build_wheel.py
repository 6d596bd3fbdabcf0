"""Builds the wheel as flit does, with the stored results in it: a notebook alone shows them too.

Their one place is benchmarks/results, which is not in the package; its copy in a wheel is `attnlab/stored`.
pip calls what is named here (pyproject.toml, `build-backend`).
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

from flit_core import buildapi
from flit_core.buildapi import *  # noqa: F403 - whatever else pip asks for is flit's

NEEDED = ("pyproject.toml", "README.md", "LICENSE")


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """Build the wheel from a copy of what goes into it, and return its name."""
    target = Path(wheel_directory).resolve()
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "src/attnlab")
        shutil.copytree("src/attnlab", package, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree("benchmarks/results", package / "stored")
        for name in NEEDED:
            shutil.copy(name, folder)
        with contextlib.chdir(folder):
            return buildapi.build_wheel(str(target), config_settings, metadata_directory)

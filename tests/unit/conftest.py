"""The treebank, for the tests that train or measure on it."""

import os
from pathlib import Path

import pytest

from attnlab.tagging import load_treebank

BESIDE = Path(__file__).resolve().parents[3] / "shared/data/ewt"


@pytest.fixture(scope="session")
def treebank_folder():
    """Name the treebank's folder; without it the tests that ask for it say so in one line."""
    folder = os.environ.get("ATTNLAB_DATA") or (BESIDE if BESIDE.is_dir() else None)
    if folder is None:
        pytest.skip("the treebank is not on this machine: set ATTNLAB_DATA to its folder")
    return Path(folder)


@pytest.fixture(scope="session")
def treebank(treebank_folder):
    """Read the treebank once."""
    return load_treebank(treebank_folder)

"""What a chapter asks of its reader before the exercises, by the one rule of the book."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "_ext"))

from attnlab_book import counts
from attnlab_book.weight import Weight, weigh

CHAPTERS = sorted((ROOT / "chapters").glob("[0-9]*.ipynb"))
MOST_MINUTES, MOST_TABLES = 45, 4


def topic(path: Path) -> str:
    return path.stem.split("_", 1)[1]


@pytest.mark.parametrize("path", CHAPTERS, ids=topic)
def test_a_chapter_is_one_sitting(path):
    weight = weigh(json.loads(path.read_text(encoding="utf-8")))
    light = weight.minutes <= MOST_MINUTES and weight.tables <= MOST_TABLES
    assert light, f"{weight}: {weight.minutes:.1f} minutes"


@pytest.mark.parametrize("path", CHAPTERS, ids=topic)
def test_the_minutes_that_a_chapter_states_are_the_rule_s(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    opening = next(
        text for cell in notebook["cells"] if "minutes to read" in (text := "".join(cell["source"]))
    )
    assert counts.minutes(opening)[0] == 5 * round(weigh(notebook).minutes / 5)


def test_what_is_folded_or_comes_with_the_exercises_weighs_nothing():
    def cell(kind, source, tags=(), html=""):
        outputs = [{"data": {"text/html": html}}] if html else []
        return {"cell_type": kind, "source": source, "metadata": {"tags": list(tags)}, "outputs": outputs}

    text = "Two words.\n\n$$\na\n$$\n\n<details><summary>More</summary>unseen</details>\n"
    notebook = {
        "cells": [
            cell("markdown", text),
            cell("code", "a = 1\n\nb = 2", html="<table></table>"),
            cell("code", "folded = 1", ["hide-input"], '<figure data-attnlab="x"><table></table></figure>'),
            cell("markdown", "## Exercises\n\nmany more words"),
            cell("code", "c = 3"),
        ]
    }
    assert weigh(notebook) == Weight(words=2, lines=2, tables=1, equations=1, figures=1)
    assert weigh(notebook).minutes == pytest.approx(0.02 + 2 / 7 + 1.5 + 0.5 + 4)

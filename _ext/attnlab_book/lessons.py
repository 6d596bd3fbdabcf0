"""Says how long chapters take a class that predicts and discusses, by one rule, from counted minutes.

A chapter takes the minutes that it asks of a reader, for somebody has to say and show what it says; ten more
for each box to predict in, and two for each question of its quiz. Exercises are work at home.

>>> Lesson(reading=45, predictions=2, questions=5, exercises=50).minutes
75
>>> [week.minutes for week in weeks_of("a, b\\nc", {"a": Lesson(40), "b": Lesson(30, 1), "c": Lesson(45)})]
[80, 45]
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from attnlab_book import counts
from attnlab_book.chapters import Chapter, cells_of
from attnlab_book.weight import weigh

A_PREDICTION = 10
"""Minutes: two to write a prediction down, three to look, five to talk about what was seen."""
A_QUESTION = 2
"""Minutes for a question of the quiz: a show of hands, and why the others are wrong."""
BOX = re.compile(r"^:class: predict$", re.MULTILINE)
ASKED = re.compile(r"^\*\*\d+\. ", re.MULTILINE)
HEADING = re.compile(r"^(?=## )", re.MULTILINE)


@dataclass(frozen=True)
class Lesson:
    """What of a class's time a chapter takes.

    Args:
        reading: minutes that it asks of a reader.
        predictions: boxes to predict in.
        questions: of the quiz.
        exercises: minutes for these, at home.
    """

    reading: int
    predictions: int = 0
    questions: int = 0
    exercises: int = 0

    @property
    def minutes(self) -> int:
        """Minutes in class."""
        return self.reading + A_PREDICTION * self.predictions + A_QUESTION * self.questions


@dataclass(frozen=True)
class Week:
    """A line of a plan: its chapters' topics, and what they take together; or words, and no chapter."""

    topics: list[str]
    minutes: int = 0
    exercises: int = 0
    words: str = ""


@dataclass(frozen=True)
class Section:
    """A part of a lesson: its heading, when it begins and ends, and its boxes to predict in."""

    heading: str
    begins: int
    ends: int
    predictions: int


def lesson(root: Path, chapter: Chapter) -> Lesson:
    """Count what a chapter takes in class."""
    text = "\n".join(cell.source for cell in cells_of(root / chapter.page) if cell.kind == "markdown")
    quiz = text.partition("\n## Quiz")[2]
    tasks = sum(int(found[2]) for found in counts.TASK.finditer(text))
    return Lesson(counts.minutes(text)[0], len(BOX.findall(text)), len(ASKED.findall(quiz)), tasks)


def weeks_of(lines: str, lessons: Mapping[str, Lesson]) -> list[Week]:
    """Read a plan, a week's topics on each line, and add up. A line after `*` holds words in their place.

    Raises:
        ValueError: a topic is no chapter's.
    """
    weeks = []
    for line in filter(None, map(str.strip, lines.splitlines())):
        if line.startswith("* "):
            weeks.append(Week([], words=line.removeprefix("* ")))
            continue
        topics = [topic.strip() for topic in line.split(",")]
        unknown = [topic for topic in topics if topic not in lessons]
        if unknown:
            raise ValueError(f"no chapter has the topic {unknown[0]!r}; there are: {', '.join(lessons)}")
        of = [lessons[topic] for topic in topics]
        weeks.append(
            Week(
                topics,
                sum(one.minutes for one in of),
                sum(one.exercises for one in of),
            )
        )
    return weeks


def sections(root: Path, chapter: Chapter) -> list[Section]:
    """Say when each section of a chapter begins and ends in class, by the same rule; the quiz comes last."""
    notebook = json.loads((root / f"{chapter.page}.ipynb").read_text(encoding="utf-8"))
    parts: list[tuple[str, list[dict]]] = [("Opening", [])]
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "markdown":
            parts[-1][1].append(cell)
            continue
        for piece in HEADING.split(source):
            if piece.startswith("## "):
                parts.append((piece[3:].partition("\n")[0].strip(), []))
            if piece.strip():
                parts[-1][1].append({**cell, "source": [piece]})
    found, now = [], 0.0
    for heading, cells in parts:
        if heading == "Exercises":
            break
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        boxes = len(BOX.findall(text))
        ends = now + weigh({"cells": cells}).minutes + A_PREDICTION * boxes
        found.append(Section(heading, round(now), round(ends), boxes))
        now = ends
    quiz = lesson(root, chapter).questions
    return [*found, Section("Quiz", round(now), round(now) + A_QUESTION * quiz, 0)]

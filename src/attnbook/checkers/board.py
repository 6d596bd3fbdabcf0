"""What a reader sees of a test: the board of all code that it was tried on, and one survivor at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

import torch
from torch import Tensor

from attnbook.checkers.candidates import Candidate
from attnbook.checkers.tasks import Task
from attnbook.checks import running
from attnbook.checks.verdict import COLOURS, MARKS, publish

PANEL = "border-left: 4px solid {colour}; padding: 0.4em 0.8em; margin: 0.4em 0"
TILE = (
    "display: inline-block; min-width: 1.7em; padding: 0.1em 0; margin: 0 0.2em 0.2em 0; text-align: center; "
    "border: 2px {line} {colour}; border-radius: {round}"
)
CELL = "text-align: left; vertical-align: top; padding: 0.2em 0.6em 0.2em 0; white-space: normal"
WORDS = f"{CELL}; overflow-wrap: anywhere"
CODE = "overflow-x: auto; margin: 0.2em 0 0.6em"
SHOWN = 40
"""Lines of an output that are shown."""


@dataclass(frozen=True)
class Judged:
    """A candidate, whether the test refused it, and for right code why that was wrong."""

    candidate: Candidate
    refused: bool
    why: str = ""


@dataclass
class Board:
    """The judgement of one test.

    Attributes:
        task: the exercise.
        judged: every candidate, right ones first, then broken ones from easy to hard; none after trouble.
        trouble: why nothing was judged.
        written: whether there was a test at all.

    >>> from attnbook.checkers.judging import judge
    >>> print(judge("testing-scaling", 3))
    ✗ It needs your test itself, test_scaling, without brackets behind it; it got 3.
    """

    task: Task
    judged: tuple[Judged, ...] = ()
    trouble: str = ""
    written: bool = True
    _looked: bool = field(default=False, repr=False)

    @property
    def broken(self) -> list[Judged]:
        """What should have been refused."""
        return [one for one in self.judged if not one.candidate.right]

    @property
    def refused(self) -> int:
        """The score, how many broken candidates were refused."""
        return sum(one.refused for one in self.broken)

    @property
    def survivors(self) -> list[Candidate]:
        """Broken candidates that passed, from easy to hard."""
        return [one.candidate for one in self.broken if not one.refused]

    @property
    def complaints(self) -> list[Judged]:
        """Right code that was refused."""
        return [one for one in self.judged if one.candidate.right and one.refused]

    @property
    def status(self) -> str:
        """Right if all broken code was refused and all right code passed, else wrong; or not yet written."""
        if not self.written:
            return "not yet"
        return "right" if self.judged and not self.survivors and not self.complaints else "wrong"

    @property
    def message(self) -> str:
        """The verdict in sentences."""
        if self.trouble:
            return self.trouble
        right = len(self.judged) - len(self.broken)
        passed = right - len(self.complaints)
        text = f"{self.refused} of {len(self.broken)} broken ones refused; "
        text += (
            f"all {right} right ones pass." if passed == right else f"{passed} of {right} right ones pass."
        )
        if self.complaints:
            first = self.complaints[0]
            text += f" It refuses right code ({first.candidate.title}). {first.why}"
        elif self.survivors:
            text += " To look at the easiest survivor: board.look(…), with an input of your choice."
        else:
            text += f" {self.task.praise}"
        return text

    def __str__(self) -> str:
        lines = [f"{MARKS[self.status]} {self.message}"]
        for number, one in enumerate(self.judged, 1):
            lines.append(f"  {number:2d} {self._mark(one)} {self._verdict(one)}: {self._says(one)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<board of {self.task.name}: {self.refused} of {len(self.broken)} refused>"

    def _mark(self, one: Judged) -> str:
        return "✓" if one.refused != one.candidate.right else "✗"

    def _verdict(self, one: Judged) -> str:
        if one.candidate.right:
            return "right, refused" if one.refused else "right, passes"
        return "broken, refused" if one.refused else "broken, survives"

    def _says(self, one: Judged) -> str:
        code = one.candidate
        if code.right:
            return code.title
        if not one.refused:
            return f"difficulty {code.level} of 5"
        return f"{code.says} ({code.source})"

    def _repr_html_(self) -> str:
        """Draw the board: a tile for each candidate, and the table that says the same in words."""
        panel = PANEL.format(colour=COLOURS[self.status])
        head = f"<strong>{MARKS[self.status]}</strong> {escape(self.message)}"
        if not self.judged:
            return f'<div class="attnlab-verdict attnlab-board" style="{panel}">{head}</div>'
        tiles, rows = "", ""
        for number, one in enumerate(self.judged, 1):
            well = one.refused != one.candidate.right
            colour = COLOURS["right" if well else "wrong"]
            corner = "1em" if one.candidate.right else "0.2em"
            style = TILE.format(line="solid" if well else "dashed", colour=colour, round=corner)
            tiles += f'<span style="{style}">{number}{self._mark(one)}</span>'
            rows += f'<tr><th scope="row" style="{CELL}">{number} {self._mark(one)}</th>'
            rows += f'<td style="{CELL}">{escape(self._verdict(one))}</td>'
            rows += f'<td style="{WORDS}">{escape(self._says(one))}</td></tr>'
        names = "".join(
            f'<th scope="col" style="{CELL}">{name}</th>' for name in ("code", "your test", "what it is")
        )
        return (
            f'<div class="attnlab-verdict attnlab-board" style="{panel}">{head}'
            f'<div aria-hidden="true" style="margin: 0.6em 0 0.2em">{tiles}</div>'
            "<details><summary>All code, in words (round: right; square: broken, from easy to hard)</summary>"
            f'<table style="border-collapse: collapse"><thead><tr>{names}</tr></thead>'
            f"<tbody>{rows}</tbody></table>"
            "</details></div>"
        )

    def show(self) -> None:
        """Show the board again."""
        publish(self)

    def look(self, *inputs: Any) -> None:
        """Show what the easiest survivor gives for an input, beside what right code gives.

        Args:
            inputs: the arguments of a call; or one function of the code, which returns what is to be seen.
        """
        survivor = next(iter(self.survivors), None)
        if survivor is None:
            publish(Shown("Nothing survives."))
            return
        use: Callable = lambda code: code(*inputs)  # noqa: E731
        plain = True
        if len(inputs) == 1 and callable(inputs[0]) and not isinstance(inputs[0], Tensor):
            use, plain = inputs[0], False
        texts, values, failed = [], [], []
        for one in (survivor, self.task.reference):
            function = one.build(self.task.function)
            outcome = running.run(use, lambda function=function: {"code": function})
            values.append(outcome.value)
            trouble = outcome.trouble.partition(", in the line")[0] if plain else outcome.trouble
            texts.append(trouble.rstrip(".") + "." if trouble else _text(outcome.value))
            failed.append(outcome.failed)
        if all(failed) and texts[0] == texts[1]:
            publish(Shown(f"Neither takes this input. {texts[0]}"))
            return
        self._looked = True
        kind = "Here they agree: try another input." if _alike(*values, *texts) else "Here they differ."
        parts = (("the survivor", texts[0]), ("right code", texts[1]))
        publish(Shown(f"A survivor of difficulty {survivor.level} of 5. {kind}", parts))

    def show_line(self) -> None:
        """Show what is wrong with the survivor that was looked at: the line, and what should stand there."""
        survivor = next(iter(self.survivors), None)
        if survivor is None:
            publish(Shown("Nothing survives."))
        elif not self._looked:
            publish(Shown("Look at what it gives first: board.look(…), with an input of your choice."))
        else:
            lines = survivor.wrong_lines()
            wrong = "\n".join(ours for ours, _ in lines if ours) or "(a line is missing)"
            right = "\n".join(theirs for _, theirs in lines if theirs) or "(nothing)"
            parts = (("it has", wrong), ("it should have", right), ("all of it", survivor.code.strip()))
            hint = f"What tells: {survivor.tells}."
            publish(Shown(f"{survivor.says} (Source: {survivor.source}.) {hint}", parts))


@dataclass(frozen=True)
class Shown:
    """A sentence, and below it pieces of output or code, each with a name."""

    text: str
    parts: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return "\n".join([self.text, *(f"{name}:\n{text}" for name, text in self.parts)])

    def _repr_html_(self) -> str:
        panel = PANEL.format(colour=COLOURS["not yet"])
        parts = "".join(
            f'<div>{escape(name)}:</div><pre tabindex="0" style="{CODE}">{escape(text)}</pre>'
            for name, text in self.parts
        )
        return f'<div class="attnlab-verdict" style="{panel}">{escape(self.text)}{parts}</div>'


def _text(value: Any) -> str:
    """Write an output in a few lines."""
    if isinstance(value, Tensor):
        shown = value.detach()
        shown = shown if shown.dtype in (torch.bool, torch.int64) else (shown * 1e4).round() / 1e4
        head = f"shape {tuple(value.shape)}, {str(value.dtype).removeprefix('torch.')}"
        lines = str(shown).splitlines()
    elif isinstance(value, (tuple, list)):
        return "\n".join(map(_text, value))
    else:
        head, lines = type(value).__name__, str(value).splitlines()
    more = [f"… {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
    return "\n".join([head, *lines[:SHOWN], *more])


def _alike(got: Any, want: Any, said: str, wanted: str) -> bool:
    if (
        isinstance(got, Tensor)
        and isinstance(want, Tensor)
        and got.shape == want.shape
        and got.dtype == want.dtype
    ):
        eps = torch.finfo(got.dtype).eps if got.is_floating_point() else 0.0
        return torch.allclose(got.double(), want.double(), rtol=64 * eps, atol=64 * eps, equal_nan=True)
    if isinstance(got, (tuple, list)) and isinstance(want, (tuple, list)) and len(got) == len(want):
        return all(_alike(a, b, said, wanted) for a, b in zip(got, want, strict=True))
    return said == wanted

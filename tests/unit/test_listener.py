"""The sample of a marked project: its code against loops, and its page against what was computed."""

import json
import re
from pathlib import Path

import pytest
import torch

from attnbook.tagging import grammar
from attnbook.tagging.asking import WORDS, encode

ROOT = Path(__file__).parents[2]
SOURCE = (ROOT / "benchmarks/listener.py").read_text()
STORED = json.loads((ROOT / "benchmarks/results/listener.json").read_text())
# A number and its ± share a line.
PAGE = (ROOT / "chapters/marking_sample.md").read_text().replace("\N{NO-BREAK SPACE}", " ")
TEACHERS = (ROOT / "chapters/teachers.md").read_text()
IDEA, CONTROL = STORED["sweeps"]["listener"]["rows"]
SENTENCES = (("I", "saw", "a", "saw"), ("that", "old", "duck", "can", "watch", "them"), ("you", "fish"))


def script(source=SOURCE):
    space = {"__name__": "listener"}
    exec(compile(source, "listener.py", "exec"), space)
    return space


def slowly(model, words):
    """Hear with loops: every word, everything that it hears, one after the other."""
    rows = []
    for i, word in enumerate(words):
        total, heard = 0.0, torch.zeros(model.value.out_features, dtype=torch.float64)
        for j, other in enumerate(words):
            distance = i - j if i > j else j - i
            power = torch.exp(-model.slope * distance) if model.slope is not None else 1.0
            total = total + power
            heard = heard + power * model.value.weight[:, WORDS.index(other)]
        own = torch.zeros(len(WORDS), dtype=torch.float64)
        own[WORDS.index(word)] = 1
        rows.append(model.read(torch.cat((own, heard / total))))
    return torch.stack(rows)


def differs(source, falls):
    """Say whether a listener differs from the loops, forward or backward, on sentences side by side."""
    torch.manual_seed(0)
    model = script(source)["Listener"](falls=falls).double()
    fast = model(encode(*SENTENCES).double())
    for found, words in zip(fast, SENTENCES, strict=True):
        slow = slowly(model, words)
        if not torch.allclose(found[: len(words)], slow, atol=1e-12):
            return True
        slopes = [
            torch.autograd.grad(way.square().sum(), list(model.parameters()), retain_graph=True)
            for way in (found[: len(words)], slow)
        ]
        if not all(torch.allclose(a, b, atol=1e-10) for a, b in zip(*slopes, strict=True)):
            return True
    return False


BROKEN = [
    ("-slope * distance", "slope * distance"),
    (".masked_fill(~real[..., None, :], -torch.inf)", ""),
    ("@ self.value(words)", "@ (0 * self.value(words))"),
]


def test_the_listener_is_its_loops_and_the_test_notices_a_broken_line():
    assert not differs(SOURCE, falls=True)
    assert not differs(SOURCE, falls=False)
    for line, broken in BROKEN:
        assert SOURCE.count(line) == 1
        assert differs(SOURCE.replace(line, broken), falls=True), broken


def test_it_can_not_tell_left_from_right():
    model = script()["Listener"](falls=True).double()
    words = ("the", "old", "saw", "can", "watch")
    there, back = (model(encode(each).double())[0, 2] for each in (words, words[::-1]))
    assert torch.allclose(there, back, atol=1e-12)
    mirrored = script()["mirrored"]
    assert mirrored(words, 2) == mirrored(words[::-1], 2)
    assert mirrored(words, 1) != mirrored(words, 3)


@pytest.fixture(scope="module")
def ceilings():
    grammar.VIEWS["mirrored"] = script()["mirrored"]
    yield {
        view: {word: 100 * float(share) for word, share in grammar.right_by_word(view).items()}
        for view in ("mirrored", "whole sentence")  # that of the bag stands in test_tagging_grammar.py
    }
    del grammar.VIEWS["mirrored"]


def test_the_ceilings_are_the_grammars_and_nobody_is_above_them(ceilings):
    for view, right in ceilings.items():
        assert sum(right.values()) == pytest.approx(STORED["ceilings"][view], abs=1e-9)
    for name, view in ((IDEA, "mirrored"), (CONTROL, "bag of words")):
        row = STORED["sweeps"]["listener"]["rows"][name]
        assert all(run["value"] <= STORED["ceilings"][view] for runs in row["tried"].values() for run in runs)


def test_every_number_on_the_page_was_computed(ceilings):
    from attnbook import results

    handed = PAGE.partition("## The marks")[0]
    _, lines = results.sweep("listener").cells(digits=2)
    for (name, rate, right, *_), view in zip(lines, ("mirrored", "bag of words"), strict=True):
        assert f"| {name} | {rate} | {right} | {STORED['ceilings'][view]:.2f} |" in handed
    whole, own = STORED["ceilings"]["whole sentence"], STORED["ceilings"]["mirrored"]
    lost = {word: ceilings["whole sentence"][word] - ceilings["mirrored"][word] for word in WORDS}
    most = sorted(lost, key=lost.get)[-2:]
    assert set(most) == {"can", "that"}
    wrong = STORED["wrong by word"][IDEA]
    ends = [
        sum(run["value"] for run in row["tried"][f"{row['rate']:g}"]) / 3
        for row in STORED["sweeps"]["listener"]["rows"].values()
    ]
    for said in (
        f"computed its ceiling, {own:.2f} %. The whole sentence allows {whole:.2f} %",
        f"the ceiling loses {sum(lost[word] for word in most):.2f} of its {whole - own:.2f} points",
        f"it is {ends[0]:.1f} %, not {int(10 * (own - 0.5)) / 10}.",
        f"buys {ends[0] - ends[1]:.1f} points over the control",
        f"on *can*, as we said, {wrong['can']:.1f} of every hundred words",
        f"The second is *saw* with {wrong['saw']:.1f}",
        f"*that* comes fourth with {wrong['that']:.2f}",
        f"lie between {min(STORED['slopes']):.2f} and {max(STORED['slopes']):.2f}",
    ):
        assert said in handed, said
    assert list(wrong)[:4] == ["can", "saw", "fish", "that"]
    assert [round(10 * 2.718281828**-slope) for slope in STORED["slopes"]] == [4, 4, 4]  # four tenths


def test_the_marks_are_those_of_the_table_for_teachers_and_add_up():
    row = re.compile(r"^\| ([\w ]+?)(?:, [^|]+)? \| (\d+) \| (\d+|[^|]+) \|", re.MULTILINE)
    *parts, whole = row.findall(PAGE.partition("## The marks")[2])
    table = row.findall(TEACHERS.partition("## A project")[2])
    assert [(name, int(most)) for name, _, most in parts] == [(name, int(most)) for name, most, _ in table]
    assert all(int(given) <= int(most) for _, given, most in parts)
    assert whole == ("in all", str(sum(int(given) for _, given, _ in parts)), "100")
    assert len(parts) == 5

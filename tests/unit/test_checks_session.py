"""What a student meets around a verdict: prints, a function older than its cell, progress, stubs."""

import ast
import json
import sys

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

from attnbook import checks
from attnbook.checks import EXERCISES, cells, check, judge, progress, verdict
from attnbook.checks.exercise import OTHERS, case, draws, exercise, gradient, mistake
from attnbook.checks.values import difference


@pytest.fixture
def make():
    before = set(EXERCISES)

    def register(name="test-double", **data):
        data = {"cases": draws(x="... n d", lead=[(), (2,)]), "praise": "Twice each entry."} | data
        return exercise(name, "double", reference=data.pop("reference", lambda x: 2 * x), **data)

    yield register
    for name in set(EXERCISES) - before:
        del EXERCISES[name]


@pytest.fixture
def session(monkeypatch, tmp_path):
    """A notebook's shell, whose front end shows what is published and takes new cells."""
    shell = InteractiveShell()
    shell.kernel = True
    shell.shown, shell.next = [], []
    monkeypatch.setattr(
        shell, "set_next_input", lambda text, replace=False: shell.next.append((text, replace))
    )
    for module in (cells, progress, verdict):
        monkeypatch.setattr(module, "get_ipython", lambda: shell)
    monkeypatch.setattr(verdict, "display", lambda forms, raw: shell.shown.append(forms["text/plain"]))
    monkeypatch.setattr(progress, "_SEEN", {})
    monkeypatch.chdir(tmp_path)
    shell.user_ns["check"] = check
    yield shell
    shell.history_manager.end_session()


def test_what_an_answer_prints_comes_once_and_names_its_case(make, capsys):
    make()

    def talks(x):
        print("shape", tuple(x.shape))
        return 2 * x

    found = judge("test-double", talks)
    assert found.status == "right"
    assert capsys.readouterr().out == ""
    first = tuple(EXERCISES["test-double"].cases[0].make()["x"].shape)
    assert found.printed == f"With x of shape {first} it printed:\nshape {first}\n"
    check("test-double", talks)
    assert capsys.readouterr().out.count("\nshape (") == 1


def test_what_is_printed_without_end_is_cut(make):
    make()

    def talks(x):
        for _ in range(10_000):
            print("again and again")
        return 2 * x

    assert len(judge("test-double", talks).printed) < 2100


def test_a_layer_and_an_answer_put_to_work_are_heard_too(capsys):
    class Head(torch.nn.Module):
        def __init__(self, d_model, d_memory, d_k, d_v):
            super().__init__()
            print("a head of", d_model)

        def forward(self, x, memory=None):
            print("called")

    assert "a head of 5\n" in judge("queries-layer", Head).printed
    assert capsys.readouterr().out == ""


class Right(torch.nn.Module):
    """A head as the exercise wants it, for those that do one thing more."""

    def __init__(self, d_model, d_memory, d_k, d_v):
        super().__init__()
        self.q_proj = torch.nn.Linear(d_model, d_k, bias=False)
        self.k_proj = torch.nn.Linear(d_memory, d_k, bias=False)
        self.v_proj = torch.nn.Linear(d_memory, d_v, bias=False)

    def forward(self, x, memory=None):
        memory = x if memory is None else memory
        s = self.q_proj(x) @ self.k_proj(memory).mT / self.q_proj.out_features**0.5
        return s.softmax(-1) @ self.v_proj(memory)


def test_what_a_layer_raised_is_said_by_name():
    class Head(Right):
        def forward(self, x, memory=None):
            if x.abs().max() > 8:
                raise KeyError("too loud")
            return super().forward(x, memory)

    message = judge("queries-layer", Head).message
    assert "it raised KeyError: 'too loud', in the line `raise KeyError" in message
    assert "returned the function" not in message

    class Frozen(Head):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            self.requires_grad_(False)

    assert (
        "q_proj can't learn: its weights have requires_grad=False." in judge("queries-layer", Frozen).message
    )


def test_a_layer_that_keeps_the_memory_of_a_call_is_told():
    class Head(Right):
        kept = None

        def forward(self, x, memory=None):
            old = self.kept if self.kept is not None and self.kept.shape == x.shape else x
            self.kept, memory = memory, old if memory is None else memory
            return super().forward(x, memory)

    found = judge("queries-layer", Head)
    assert found.status == "wrong"
    assert "head(x) after a call with a memory" in found.message


HINT = "Twice nothing is nothing."


@pytest.mark.parametrize(
    ("answer", "hinted"),
    [
        (lambda x: 2 * x + (x == 0), True),
        (lambda x: 2 * x if x.any() else x.zebra, False),
        (lambda x: 2 * x if x.any() else x.view(-1), True),
        (lambda x: 2 * x if x.any() else x.detach(), False),
        (lambda x: 2 * x if x.any() else 2 * (x.add_(1) - 1), False),
    ],
    ids=["a wrong value", "raises", "a wrong shape", "no gradient", "changes its argument"],
)
def test_a_hint_stands_only_where_a_value_is_wrong(make, answer, hinted):
    make(
        cases=[case("", x=torch.ones(2, 2)), case("zeros", HINT, x=torch.zeros(2, 2))],
        promises=[gradient("x")],
    )
    message = judge("test-double", answer).message
    assert "zeros: " in message
    assert (HINT in message) == hinted, message


def test_dumps_that_say_nothing_are_left_out():
    want = [float(x) for x in range(100)]
    late = [*want[:99], 5.0]
    assert difference(late, want).text == "Entry 99 should be 99.0, it is 5.0."
    assert "As a whole" in difference([2.0, 1.0], [1.0, 2.0]).text
    got = (torch.ones(9, 9), 1.0)
    assert difference(got, (torch.ones(9, 9), 2.0)).text == "The second entry should be 2.0, it is 1.0."


def test_a_placeholder_made_no_mistake_with_a_name(make):
    make(
        reference=lambda x: (x - x.mean(-1, keepdim=True)).abs().sum(-1) + 1,
        mistakes=[mistake("It adds up signs.", lambda x: (x - x.mean(-1, keepdim=True)).sum(-1))],
    )
    assert (
        "It adds up signs." in judge("test-double", lambda x: (x - x.mean(-1, keepdim=True)).sum(-1)).message
    )
    assert "signs" not in judge("test-double", lambda x: torch.zeros(x.shape[:-1])).message
    for number in (0.0, 1.0):
        message = judge(
            "why-needed", lambda tag, words, c=number: torch.full((len(words), len(words)), c)
        ).message
        assert message.startswith("With “I saw a saw”"), message


def test_a_cell_that_did_not_compile_is_told(session):
    session.run_cell("def scores_for(weights):\n    return weights.log()", store_history=True)
    session.run_cell('check("why-scores", scores_for)', store_history=True)
    assert session.shown[-1].startswith("✓")
    session.run_cell("def scores_for(weights):\n    return weights.log(", store_history=True)
    session.run_cell('check("why-scores", scores_for)', store_history=True)
    assert (
        "✓ Your last cell with scores_for did not compile ('(' was never closed, line 2)" in session.shown[-1]
    )
    assert "about the one defined before" in session.shown[-1]
    session.run_cell("def scores_for(weights):\n    return weights", store_history=True)
    session.run_cell('check("why-scores", scores_for)', store_history=True)
    assert session.shown[-1].startswith("✗ It returns the shares")


def test_progress_is_kept_beside_the_notebook_and_shown_on_demand(session, tmp_path):
    check()
    assert f"0 of {len(EXERCISES) + len(OTHERS)} solved" in session.shown[-1]
    check("why-scores", lambda weights: weights)
    check("why-scores", torch.log)
    check("why-needed", lambda tag, words: None)
    kept = json.loads((tmp_path / "attnlab-progress.json").read_text())["exercises"]
    assert kept == {"why-scores": {"solved": True, "tries": 2}, "why-needed": {"solved": False, "tries": 1}}
    progress._SEEN.clear()  # another day
    check()
    (line,) = [line for line in session.shown[-1].splitlines() if line.startswith("why ")]
    assert line.split("   ")[-4:] == ["○ ceiling", "○ running-bag", "✓ scores (2)", "✗ needed (1)"]
    assert [path.name for path in tmp_path.iterdir()] == ["attnlab-progress.json"]


def test_what_was_answered_in_the_book_stays_in_the_file(session, tmp_path):
    path = tmp_path / "attnlab-progress.json"
    pages = {"playground": {"total": 6, "given": {"abc": [1, True], "xyz": [0, False]}}}
    path.write_text(json.dumps({"exercises": {}, "pages": pages}))
    check("why-scores", torch.log)
    assert json.loads(path.read_text()) == {
        "exercises": {"why-scores": {"solved": True, "tries": 1}},
        "pages": pages,
    }
    check()
    assert "2 questions answered in the book, 1 right" in session.shown[-1]
    path.write_text(json.dumps({"exercises": {}, "pages": {"playground": {"given": {"abc": [1]}}}}))
    with pytest.raises(ValueError, match="holds something else"):
        progress.report(path)


def test_a_damaged_file_is_put_aside_and_nothing_is_lost(session, tmp_path, capsys):
    path = tmp_path / "attnlab-progress.json"
    path.write_text('{"exercises": {"why-sc')
    check("why-scores", torch.log)
    assert session.shown[-1].startswith("✓")
    assert path.read_text() == '{"exercises": {"why-sc'
    check()
    assert "attnlab-progress.json could not be read" in capsys.readouterr().out
    assert (tmp_path / "attnlab-progress.damaged").read_text() == '{"exercises": {"why-sc'
    assert "✓ scores (1)" in session.shown[-1]
    assert json.loads(path.read_text())["exercises"]["why-scores"]["solved"]


def test_where_nothing_can_be_written_progress_is_shown_all_the_same(session, monkeypatch):
    def refused(*_, **__):
        raise PermissionError("read-only")

    monkeypatch.setattr(progress.Path, "write_text", refused)
    check("why-scores", torch.log)
    check()
    assert "✓ scores (1)" in session.shown[-1]


def test_outside_a_notebook_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    check("why-scores", torch.log)
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out.startswith("✓")


def test_a_name_without_a_function_is_an_error():
    with pytest.raises(TypeError, match=r"check\('why-scores', scores_for\)"):
        check("why-scores")


def test_a_stub_comes_back(session, capsys):
    checks.stub("why-ceiling")
    source = "def ceiling(sentences, view):\n    ...  # your code here"
    assert session.next == [(source, True)]
    assert capsys.readouterr().out == source + "\n"
    with pytest.raises(ValueError, match=r"name must be one of .*got 'no-such'"):
        checks.stub("no-such")


@pytest.mark.parametrize("name", sorted(EXERCISES | OTHERS))
def test_every_stub_is_written_as_its_chapter_has_it(name):
    sys.path.insert(0, "tests/exercises")
    from stored import STUBS

    assert ast.dump(ast.parse(cells.written(name))) == ast.dump(ast.parse(STUBS[name]))

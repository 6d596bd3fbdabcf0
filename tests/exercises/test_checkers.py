"""A reader's test is judged: lazy ones leave what they should, hostile ones end in a sentence."""

import gc
import inspect
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

sys.path.insert(0, str(Path(__file__).parent))

from stored import CHECKS, SOLUTIONS, STUBS

from attnbook import check_tests
from attnbook.checkers import CHECKERS, board, caught, handing, judge, judging, lazy, showing
from attnbook.checkers.candidates import Candidate
from attnbook.checks import progress

NAME = "testing-scaling"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    # Computing time, not time on the clock: a busy machine changes nothing.
    monkeypatch.setattr(judging, "BUDGET", 0.5)


def three(*lead, n=4, m=5, d=6, w=3):
    return torch.randn(*lead, n, d), torch.randn(*lead, m, d), torch.randn(*lead, m, w)


def definition(q, k, v):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


def shapes(attention):
    return attention(*three(2)).shape == (2, 4, 3)


def one_example(attention):
    parts = three(n=4, m=4, d=64, w=64)
    return torch.allclose(attention(*parts), definition(*parts), atol=1e-5)


def names(survivors):
    return {one.name for one in survivors}


def test_a_test_of_shapes_lets_all_but_none_pass():
    found = judge(NAME, shapes)
    assert (found.status, found.refused, len(found.survivors), found.complaints) == ("wrong", 0, 18, [])


def test_one_example_leaves_what_it_does_not_ask():
    left = judge(NAME, one_example).survivors
    assert names(left) == {
        *("the width of the values", "the third axis", "whole roots", "made for 64", "one top for all"),
        *(
            "no top taken away",
            "scores in half precision",
            "weights without a past",
            "keys without a gradient",
        ),
        "the first width for ever",
        "single inside",
    }
    assert {one.tells for one in left} == {
        "sizes",
        "large numbers",
        "half precision",
        "double precision",
        "gradients",
        "second call",
    }


def test_what_each_kind_of_question_adds():
    def sizes(attention):
        parts = three(2)
        assert_close(attention(*parts), definition(*parts))

    def gradient(attention):
        parts = [x.double().requires_grad_() for x in three()]
        return torch.autograd.gradcheck(attention, parts)

    assert names(caught(NAME, sizes)) >= {
        "the width of the values",
        "the third axis",
        "whole roots",
        "made for 64",
    }
    assert {"weights without a past", "keys without a gradient"} <= names(caught(NAME, gradient))
    assert not {"weights without a past", "keys without a gradient"} & names(caught(NAME, sizes))


def test_right_code_that_is_refused_is_said_to_be_right_and_where():
    def exact(attention):
        parts = three()
        return torch.equal(attention(*parts), definition(*parts))

    found = judge(NAME, exact)
    assert found.status == "wrong"
    assert found.complaints
    assert "shape (4, 6) in float32" in found.message
    assert (
        "equals the definition, to rounding. The last digits may differ: compare with a tolerance."
        in found.message
    )
    assert "Your test said no: it returned False." in found.message

    def strict(attention):
        parts = three()
        assert attention(*parts).is_contiguous(), "in order, please"

    found = judge(NAME, strict)
    assert [one.candidate.name for one in found.complaints] == ["einsum"]
    assert "It refuses right code (einsum, in double precision, the result not contiguous)" in found.message
    assert "it raised AssertionError: in order, please, in the line `assert attention" in found.message


def test_an_input_that_the_task_does_not_promise_is_called_so():
    def odd(attention):
        return attention(torch.randn(3, 4), torch.randn(5, 6), torch.randn(5, 2)) is None

    assert "The task promises nothing for such an input" in judge(NAME, odd).message

    def hidden(attention):
        q, k, v = three()
        mask = torch.ones(4, 9, dtype=torch.bool)
        return attention(q, k, v, mask).isfinite().all()

    assert "promises nothing for such an input" in judge("testing-mask", hidden).message

    def too_small(attention):
        q, k, v = (torch.randn(5, 3, dtype=torch.double) for _ in range(3))
        return attention(q - 400, k - 400, v).isfinite().all()

    assert "promises nothing for such an input" in judge("testing-linear", too_small).message


def test_right_code_with_a_state_is_right_after_the_calls_that_came_before():
    def steps(make):
        step = make(2)
        step(*three(n=3, m=3))
        return step(*three(n=1, m=1)).sum() > 1e9

    assert "What it gave there equals the definition" in judge("testing-cache", steps).message


def test_a_test_by_chance_refuses_only_what_it_always_refuses():
    def sometimes(attention):
        parts = three()
        if torch.rand(()) < 0.5:
            assert_close(attention(*parts), definition(*parts), rtol=1e-3, atol=1e-3)
        attention(*parts)

    def never_the_same(attention):
        attention(*three())
        return bool(torch.rand(()) < 0.5)

    whole = judge(NAME, sometimes)
    assert whole.complaints == []
    assert whole.refused == 0  # with one of the three seeds at least it asks nothing
    assert len(judge(NAME, never_the_same).complaints) == 4


def counting():
    """A test that has learned the order by heart."""
    calls = []

    def tests(attention):
        calls.append(1)
        attention(*three())
        return len(calls) % 21 <= 4

    return tests


def test_the_order_tells_nothing():
    assert judge(NAME, counting()).status == "wrong"


# Each ends in a sentence, and the piece says which.


def spelt(*parts):
    return "".join(parts)


def loops_for_ever(attention):
    while True:
        attention(*three())


def catches_everything(attention):
    while True:
        try:  # noqa: SIM105
            attention(*three())
        except BaseException:
            pass


def asks_its_name(attention):
    return attention.__name__ != "wrong"


def asks_its_code(attention):
    return len(attention.__code__.co_code) < 100


def asks_in_pieces(attention):
    return getattr(attention, spelt("__", "code", "__"))


def asks_its_class(attention):
    return getattr(type(attention).__call__, spelt("__", "globals", "__"))


def inspects(attention):
    return "0.5" in inspect.getsource(attention)


def collects(attention):
    return len(gc.get_objects())


def collects_by_another_name(attention):
    return __import__(spelt("g", "c")).get_referrers(attention)


def frames(attention):
    return sys._getframe(0).f_back


def frames_by_another_name(attention):
    return getattr(sys, spelt("_", "getframe"))(0)


def frames_of_an_error(attention):
    try:
        attention(1, 2, 3)
    except Exception as error:
        return getattr(error.__traceback__, spelt("tb", "_frame"))


def reads_the_file(attention):
    with open(handing_folder() + "/scaling.toml") as file:
        return file.read()


def handing_folder():
    return str(next(p for p in sys.path if p.endswith("src"))) + "/attnbook/" + "check" + "ers/code"


def imports_it(attention):
    from attnbook.checkers.candidates import load

    return load("scaling")


def helper(attention):
    return attention.__closure__


def through_a_helper(attention):
    return helper(attention)


KEPT = []


def keeps(attention):
    KEPT.append(attention)
    return KEPT[0](*three()) is not None


def leaves(attention):
    attention(*three())
    sys.exit(0)


def takes_all_memory(attention):
    attention(*three())
    return torch.ones(60 * 1024**3, dtype=torch.uint8).sum() > 0


def patches_torch(attention):
    torch.softmax = torch.nn.functional.softmax = lambda *_, **__: 1 / 0
    Tensor.softmax = lambda self, dim: self
    math.sqrt = lambda x: 1.0
    return attention(*three()) is not None


def patches_isclose(attention):
    torch.testing.assert_close = lambda *_, **__: None
    attention(*three())


def says_a_word(attention):
    attention(*three())
    return "right"


def never_calls(attention):
    return True


def two_arguments(attention, other):
    return True


HOSTILE = {
    loops_for_ever: "it did not stop: it was ended after 0.5 seconds of computing",
    catches_everything: "it did not stop",
    asks_its_name: "It asks the code for __name__.",
    asks_its_code: "It names __code__.",
    asks_in_pieces: "It asks the code for __code__.",
    inspects: "It names inspect.",
    collects: "It names gc.",
    collects_by_another_name: "It looks at gc.get_referrers.",
    frames: "It names _getframe.",
    frames_by_another_name: "It looks at sys._getframe.",
    frames_of_an_error: "It looks at tb_frame.",
    reads_the_file: "It reads the file in which the code stands.",
    imports_it: "It names attnbook.checkers.candidates.",
    through_a_helper: "It names __closure__.",
    keeps: "It keeps what it was given for other code.",
    leaves: "It refuses right code",
    takes_all_memory: "it asks for more than 2 GB of memory",
    patches_torch: "which is not its own; that was put back",
    patches_isclose: "It changes torch.testing.assert_close, which is not its own",
    says_a_word: "It returned 'right'. Where the code is right return True or nothing",
    never_calls: "It never calls the code",
    two_arguments: "It takes (attention, other); it is called with (the code).",
}


@pytest.mark.parametrize("tests", HOSTILE, ids=lambda one: one.__name__)
def test_a_hostile_test_ends_in_a_sentence_and_nothing_leaks(tests):
    if tests is takes_all_memory and not sys.platform.startswith("linux"):
        pytest.skip("no such limit there")
    KEPT.clear()
    before = (
        {name: vars(torch)[name] for name in ("softmax", "float32")},
        math.sqrt,
        torch.testing.assert_close,
    )
    found = judge(NAME, tests)
    assert found.status == "wrong"
    assert HOSTILE[tests] in found.message, found.message
    assert ({name: vars(torch)[name] for name in before[0]}, math.sqrt, torch.testing.assert_close) == before
    assert "softmax" not in vars(Tensor)
    assert handing._NOW == []
    assert handing._PARTS == {}
    assert judge(NAME, shapes).refused == 0, "the next test is judged as ever"


@pytest.mark.parametrize("computes", [False, True])
def test_a_test_that_waits_is_not_asked_for_all_of_the_code(monkeypatch, computes):
    calls = []
    clock = SimpleNamespace(
        monotonic=lambda: 30.0 * len(calls), process_time=lambda: 25.0 * len(calls) * computes
    )
    monkeypatch.setattr(judging, "time", clock)

    def waits(attention):
        calls.append(attention(*three()) is None)

    found = judge(NAME, waits)
    if computes:
        assert (found.trouble, found.refused) == ("", 0), "a busy machine is no pause"
        return
    said = "It waits: of 30 seconds on the clock it computed for 0."
    assert found.message == f"{said} Nothing was judged; a test needs no pause."
    assert calls == [False]


def test_what_a_class_gives_away_is_closed_as_far_as_a_notebook_can():
    found = judge(NAME, asks_its_class)
    assert found.status == "wrong"
    assert found.refused < len(found.broken) or found.complaints or found.trouble


def test_inputs_and_settings_that_a_test_changes_are_its_own():
    def changes(attention):
        parts = three()
        out = attention(*parts)
        out.mul_(0)
        parts[0].zero_()
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.manual_seed(7)
        return attention(*parts) is not None

    state = torch.get_rng_state()
    assert judge(NAME, changes).refused == 0
    assert torch.get_default_dtype() is torch.float32
    assert torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), state)


def test_what_a_candidate_keeps_ends_with_it():
    task = CHECKERS[NAME]
    (one,) = [x for x in task.candidates if x.name == "the first width for ever"]
    parts = three()
    for width in (4, 20):
        q, k, v = three(d=width)
        assert_close(one.build("attention")(q, k, v), definition(q, k, v))
    code = one.build("attention")
    code(*parts)
    assert not torch.allclose(code(q, k, v), definition(q, k, v))


def test_what_is_handed_out_works_where_functions_do():
    def everywhere(attention):
        q, k, v = three(3)
        assert callable(attention)
        assert repr(attention) == "<the code under test>"
        assert_close(torch.vmap(attention)(q, k, v), definition(q, k, v), rtol=1e-3, atol=1e-3)
        jacobian = torch.func.jacrev(attention)(q[0].double(), k[0].double(), v[0].double())
        assert jacobian.shape == (4, 3, 4, 6)

    found = judge(NAME, everywhere)
    assert found.trouble == ""
    # Not all right code can be transformed (data is read in one); that is told, and is no peeking.
    assert found.refused > 0


def test_numpy_s_and_torch_s_truth_are_truth():
    for wrap in (np.bool_, torch.tensor, lambda x: x):
        assert judge(NAME, lambda attention, wrap=wrap: wrap(shapes(attention))).refused == 0


def test_no_test_is_a_number_and_no_name_is_unknown():
    assert "it got 3" in judge(NAME, 3).message
    with pytest.raises(ValueError, match=r"name must be one of .*testing-cache.* got 'no-such'"):
        judge("no-such", print)
    with pytest.raises(ValueError, match="must accept right code"):
        caught(NAME, lambda attention: attention(*three()) is None)


@pytest.fixture
def shown(monkeypatch):
    found = []
    monkeypatch.setattr(board, "publish", found.append)
    return found


def test_one_survivor_at_a_time_is_looked_at_and_then_its_line(shown):
    found = judge(NAME, one_example)
    found.show_line()
    assert "Look at what it gives first" in str(shown[-1])
    found.look(*three(n=2, m=3, d=6, w=6))
    assert "Here they agree: try another input." in str(shown[-1])
    found.look(*three(n=2, m=3, d=6, w=3))
    text = str(shown[-1])
    assert "A survivor of difficulty 2 of 5. Here they differ." in text
    assert text.count("shape (2, 3), float32") == 2
    assert "v.shape" not in text
    found.show_line()
    text = str(shown[-1])
    assert "it has:\n    scores = scores / v.shape[-1] ** 0.5" in text
    assert "it should have:\n    scores = scores / q.shape[-1] ** 0.5" in text
    assert "lucidrains/vit-pytorch#65" in text
    found.look(lambda attention: (attention(*three()), 3))
    assert "Here they differ." in str(shown[-1])
    assert all("<pre" in one._repr_html_() for one in shown[1:])


def test_an_input_that_neither_takes_is_called_so(shown):
    found = judge(NAME, one_example)
    found.look(*three()[:2])
    said = "It raised TypeError: attention() missing 1 required positional argument: 'v'."
    assert str(shown[-1]) == f"Neither takes this input. {said}"
    found.look(lambda attention: attention(*three()[:2]))
    assert "Neither takes this input. It raised TypeError" in str(shown[-1])
    assert "in the line `found.look(lambda attention" in str(shown[-1])


def test_where_nothing_survives_there_is_nothing_to_see(shown):
    whole = board.Board(
        CHECKERS[NAME], tuple(board.Judged(one, not one.right) for one in CHECKERS[NAME].candidates)
    )
    assert whole.status == "right"
    whole.look(*three())
    whole.show_line()
    assert [str(one) for one in shown] == ["Nothing survives."] * 2


def test_the_board_says_in_words_what_its_tiles_show():
    found = judge(NAME, one_example)
    page, words = found._repr_html_(), str(found)
    assert page.count("<tr>") == 1 + len(found.judged) == 23
    assert page.count('scope="row"') == 22
    assert words.count("broken, refused") == found.refused == 7
    assert words.count("broken, survives") == len(found.survivors) == 11
    for one in found.broken:
        assert (one.candidate.says in words) is one.refused, "what is wrong with a survivor is not told"
        assert (one.candidate.source in words) or not one.refused
    assert "<script" not in page


def test_progress_counts_it_as_any_exercise(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_SEEN", {})
    monkeypatch.setattr(progress, "FILE", "nowhere.json")
    found = check_tests(NAME, shapes)
    assert isinstance(found, board.Board)
    assert capsys.readouterr().out.startswith("✗ 0 of 18 broken ones refused")
    assert progress._SEEN == {NAME: {"solved": False, "tries": 1}}

    def test_scaling(attention): ...

    check_tests(NAME, test_scaling)
    assert progress._SEEN == {NAME: {"solved": False, "tries": 1}}
    text = str(progress.Report(progress._SEEN, progress.Path("x")))
    (line,) = [line for line in text.splitlines() if line.startswith("testing ")]
    assert line.split() == [
        "testing",
        "✗",
        "scaling",
        "(1)",
        "○",
        "mask",
        "○",
        "heads",
        "○",
        "rotary",
        "○",
        "cache",
        "○",
        "linear",
    ]


def test_code_is_a_change_of_right_code():
    one = Candidate("x", "a\nb\n", base="a\nc\n")
    assert one.wrong_lines() == [("b", "c")]
    assert not one.right


STORED = pytest.mark.parametrize("name", sorted(CHECKERS))


@STORED
def test_the_solution_on_the_page_refuses_all_broken_code_and_no_right_one(name):
    space: dict = {"check_tests": lambda *_: None}
    exec("import torch\nimport torch.nn.functional as F\nfrom torch.testing import assert_close\n", space)
    exec(SOLUTIONS[name], space)
    found = judge(name, space[CHECKERS[name].answer])
    assert found.status == "right", found.message
    assert found.message.endswith(CHECKERS[name].praise)


@STORED
def test_the_stub_is_unwritten_and_the_check_cell_calls_its_own(name):
    task, space = CHECKERS[name], {}
    exec(STUBS[name], space)
    assert str(judge(name, space[task.answer])) == f"○ {task.answer} is not written yet."
    assert f'check_tests("{name}", {task.answer})' in CHECKS[name]


@STORED
def test_what_lazy_tests_let_pass(name):
    assert caught(name, lazy.of_shape(name)) == []
    left = set(CHECKERS[name].candidates) - set(caught(name, lazy.of_one_example(name)))
    assert all(
        one.right or one.tells in ("values", "sizes") or one in left for one in CHECKERS[name].candidates
    )
    assert {one.tells for one in left} > {"gradients", "second call", "half precision"}


@STORED
def test_an_example_in_which_nothing_is_equal_refuses_more_and_leaves_other_kinds(name):
    plain = {one.name for one in caught(name, lazy.of_one_example(name))}
    apart = {one.name for one in caught(name, lazy.of_one_example(name, lazy.APART))}
    assert plain < apart
    left = [one.tells for one in CHECKERS[name].candidates if not one.right and one.name not in apart]
    assert left.count("values") == 0
    assert left.count("sizes") == (name not in ("testing-scaling", "testing-linear")), "four, says the page"


def test_what_is_shown_of_a_property_is_one_that_it_caught(monkeypatch):
    shown = []
    monkeypatch.setattr(showing, "publish", shown.append)
    showing.show_caught(NAME, one_example, "by d")
    assert str(shown[0]).startswith(
        "Refuses 7 of 18, one of which: It divides by the width, not by its root."
    )
    with pytest.raises(ValueError, match=r"broken must be one of not scaled.* got 'whole roots'"):
        showing.show_caught(NAME, one_example, "whole roots")


def test_with_an_example_the_battery_refuses_no_less_of_each_task():
    table = showing.together({name: () for name in CHECKERS})
    for _, *counts in table.rows:
        broken, questions, example, battery, both = map(int, counts)
        assert questions == 0 < example <= both <= broken
        assert 0 < battery <= both

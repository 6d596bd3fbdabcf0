"""Every broken candidate is wrong, in what it says and not before; every right one is right."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from candidates import COMMON, SPECIAL, agree

from attnbook.checkers import CHECKERS
from attnbook.checkers.candidates import SEEN_BY

EACH = [(name, one) for name, task in CHECKERS.items() for one in task.candidates]
each = pytest.mark.parametrize(("name", "one"), EACH, ids=[f"{name}/{one.name}" for name, one in EACH])


def agrees(name, one, use, loose=1.0):
    task = CHECKERS[name]
    return agree(lambda: one.build(task.function), lambda: task.reference.build(task.function), use, loose)


@each
def test_right_code_is_right_and_broken_code_is_wrong_where_it_says(name, one):
    if one.right:
        # A third of the tolerance: another processor rounds in another way.
        uses = [*COMMON[name], *(use for kind in SPECIAL[name].values() for use in kind)]
        assert [at for at, use in enumerate(uses) if not agrees(name, one, use, 1 / 3)] == []
    elif one.tells == "values":
        assert not all(agrees(name, one, use) for use in COMMON[name])
    else:
        assert all(agrees(name, one, use) for use in COMMON[name]), "any first test tells it"
        assert not all(agrees(name, one, use) for use in SPECIAL[name][one.tells])


QUIET = {"gradients", "half precision", "double precision", "empty row", "second call"}


@pytest.mark.parametrize("name", sorted(CHECKERS))
def test_there_are_enough_and_each_says_what_people_get_wrong(name):
    task = CHECKERS[name]
    wrong = [one for one in task.candidates if not one.right]
    assert len(wrong) >= 12
    assert len(task.candidates) - len(wrong) >= 4
    assert sum(one.tells in QUIET for one in wrong) >= 2
    assert (
        len({one.name for one in task.candidates})
        == len({one.code for one in task.candidates})
        == len(task.candidates)
    )
    assert [one.level for one in wrong] == sorted(one.level for one in wrong)
    assert {one.level for one in wrong} == {1, 2, 3, 4, 5}
    for one in wrong:
        assert one.tells in SEEN_BY
        assert one.says.endswith(".")
        assert "#" in one.source or "this book's readings" in one.source
        assert one.wrong_lines()


@pytest.mark.parametrize("name", sorted(CHECKERS))
def test_what_only_one_kind_can_tell_the_other_kinds_do_not(name):
    # Code that gradients alone tell has the right values, in every precision and in a second call.
    for one in CHECKERS[name].candidates:
        if one.tells == "gradients":
            uses = [use for kind, all_of in SPECIAL[name].items() if kind != "gradients" for use in all_of]
            assert all(agrees(name, one, use) for use in uses), one.name

"""A few mutants on every run; `make mutants` runs all of them."""

import importlib.util
import sys
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("mutants", Path(__file__).with_name("run.py"))
mutants = importlib.util.module_from_spec(spec)
sys.modules["mutants"] = mutants  # dataclasses look their module up
spec.loader.exec_module(mutants)


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_every_mutant_still_has_its_place(mutant):
    text = (mutants.ROOT / "src" / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.right) == 1
    assert (mutants.ROOT / "tests" / mutant.tests.partition("::")[0]).is_file()


@pytest.mark.parametrize("name", mutants.QUICK)
def test_a_mutant_is_caught(name):
    (mutant,) = [mutant for mutant in mutants.MUTANTS if mutant.name == name]
    assert not mutants.survives(mutant, mutant.tests)


def test_the_copy_is_what_is_tested_and_passes_unbroken():
    assert mutants.survives(None, "unit/test_cache.py")
    broken = next(mutant for mutant in mutants.MUTANTS if mutant.tests == "unit/test_cache.py")
    assert not mutants.survives(broken, broken.tests)


def test_a_test_that_is_red_already_stops_no_mutant_of_the_others(monkeypatch, capsys):
    tests = {"one": "red", "two": "green", "six": "green"}
    made = tuple(mutants.Mutant(name, "x.py", "a", "b", of) for name, of in tests.items())
    monkeypatch.setattr(mutants, "MUTANTS", made)
    monkeypatch.setattr(mutants, "survives", lambda one, tests: tests == "green" and one is None)
    monkeypatch.setattr(sys, "argv", ["run.py"])
    assert mutants.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        "FAILS     red without any mutant",
        "caught    two",
        "caught    six",
        "2 of 3 mutants were caught, 1 not tried",
    ]
    sys.argv.append("two")
    assert mutants.main() == 0
    assert "FAILS" not in capsys.readouterr().out

"""What `make torches` runs, and where: the lowest torch and the newest, each in an environment of its own."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import dev_setup
import dev_test
import dev_torches


def test_the_lowest_torch_is_read_from_the_one_place_that_states_it(tmp_path, monkeypatch):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == [f"torch>={dev_torches.lowest()}"]
    assert f"torch is there from {dev_torches.lowest()} on" in (ROOT / "chapters/teachers.md").read_text()
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["numpy>=1.26", "torch>=3.1"]\n')
    monkeypatch.setattr(dev_torches, "ROOT", tmp_path)
    assert dev_torches.lowest() == "3.1"


@pytest.mark.parametrize(
    ("version", "wanted"), [("2.11", "==2.11.*"), ("2.14.1", "==2.14.1.*"), ("newest", "")]
)
def test_the_packages_are_the_pinned_ones_but_for_torch(version, wanted):
    before, after = (
        (ROOT / "requirements.txt").read_text().splitlines(),
        dev_torches.pins(version).splitlines(),
    )
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert [b for _, b in changed] == [f"torch{wanted}"]
    assert changed[0][0].startswith("torch==")
    if version != "newest":  # a build of one kind or other is meant, too
        assert SpecifierSet(wanted).contains(
            f"{version}.0+cpu" if version.count(".") == 1 else f"{version}+cpu"
        )


def test_a_version_that_is_none_is_refused_before_anything_is_installed(monkeypatch):
    monkeypatch.setattr(dev_setup, "install", lambda *_: pytest.fail("installed"))
    with pytest.raises(dev_setup.SetupError, match=r"called by its number.*got 2.8; rm"):
        dev_torches.main(["2.8", "2.8; rm"])


@pytest.mark.parametrize("asked", [(), ("2.11",)])
def test_unit_tests_and_exercises_run_in_an_environment_for_each_torch(tmp_path, monkeypatch, asked):
    installed, ran = [], {}
    monkeypatch.setattr(dev_torches, "FOLDER", tmp_path)
    monkeypatch.setattr(dev_setup, "node_modules", lambda: None)
    monkeypatch.setattr(
        dev_setup, "install", lambda folder, pins: installed.append((folder, pins.read_text()))
    )
    monkeypatch.setattr(
        dev_torches.subprocess,
        "run",
        lambda command, **_: subprocess.CompletedProcess(command, 0, command[0]),
    )
    monkeypatch.setattr(dev_test, "side_by_side", lambda chosen: ran.update(chosen) or 7)
    assert dev_torches.main(asked) == 7
    versions = asked or (dev_torches.lowest(), "newest")
    assert installed == [(tmp_path / version, dev_torches.pins(version)) for version in versions]
    wanted = []
    for version in versions:
        python = dev_setup.python(tmp_path / version)
        for name in ("unit and doctests", "exercises"):
            wanted.append((f"torch {python}: {name}", dev_test.steps(python)[name]))
    assert [(name, command) for name, (command, _) in ran.items()] == wanted
    for command, variables in ran.values():
        assert Path(command[0]).parent == Path(variables["PATH"].split(":")[0])
        assert variables["VIRTUAL_ENV"] in command[0]


def test_the_workflow_runs_it_weekly_and_on_change():
    workflow = yaml.safe_load((ROOT / ".github/workflows/torches.yml").read_text())
    assert {"push", "pull_request", "schedule"} <= set(workflow[True])  # YAML reads `on` as a truth
    steps = workflow["jobs"]["torches"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == ["make torches"]
    assert "torches:" in (ROOT / "Makefile").read_text()
    assert ".torches/" in (ROOT / ".gitignore").read_text().split()


def test_a_checkout_that_was_moved_installs_its_packages_anew(tmp_path, monkeypatch):
    """They are installed from where it lies."""
    found = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "requirements.txt").write_text("torch")
        monkeypatch.setattr(dev_setup, "ROOT", tmp_path / name)
        found.append(dev_setup._stamp(tmp_path, "requirements.txt"))
    assert found[0] != found[1]

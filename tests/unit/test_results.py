"""Stored results: found from anywhere, shown as they are stored, with where they come from."""

import json
import re
import subprocess

import pytest
import torch

from attnbook import experiments, results


@pytest.fixture
def clone(tmp_path, monkeypatch):
    (tmp_path / "benchmarks/results").mkdir(parents=True)
    (tmp_path / "_toc.yml").touch()
    (tmp_path / "chapters").mkdir()
    monkeypatch.chdir(tmp_path / "chapters")
    monkeypatch.setattr(results, "_commit", lambda: "0123456789")
    monkeypatch.setattr(results, "_begun", None)
    return tmp_path


def found():
    train = {"a & b": lambda rate, seed: experiments.Run([0.5, 1 - abs(rate - 0.2) - seed / 10])}
    return experiments.sweep(train, rates=[0.1, 0.2, 0.4], seeds=range(2), measure="right", progress=False)


def test_what_is_stored_comes_back_with_where_it_comes_from(clone):
    results.store("topic", {"sweeps": {"SGD": found()}}, command="python benchmarks/x.py", seeds=range(2))
    assert (clone / "benchmarks/results/topic.json").is_file()
    stored = results.load("topic")
    assert stored["made by"] == "python benchmarks/x.py"
    assert stored["seeds"] == [0, 1]
    assert stored["date"].count("-") == 2
    assert stored["machine"]["torch"] == torch.__version__
    assert results.sweep("topic").cells() == found().cells()
    assert results.sweep("topic", "SGD")["a & b"].rate == 0.2


def test_a_table_is_shown_with_a_fold(clone, capsys):
    results.store(
        "topic", {"sweeps": {"SGD": found(), "Adam": found()}}, command="a <script>", seeds=range(2)
    )
    stored = results.load("topic")
    shown = results._Shown([("SGD", results.sweep("topic", "SGD").as_table())], [stored])
    page = shown._repr_html_()
    assert "0.95 ± 0.07" in page
    assert "a &amp; b" in page
    assert "made by: a &lt;script&gt;" in page
    assert "seeds: 0, 1" in page
    assert f"torch: {torch.__version__}" in page
    assert page.index("</table>") < page.index("<details>")
    results.show("topic")
    text = capsys.readouterr().out
    assert text.count("0.95 ± 0.07") == 2
    assert "Adam" in text
    assert "made by a <script>" in text
    results.source("topic")
    assert "made by" in capsys.readouterr().out


def test_one_fold_tells_the_sources_of_several_topics(clone, capsys):
    for topic in ("one", "two"):
        results.store(topic, {"x": 1}, command=f"make {topic}")
    results.show("one", ["x"], [[1]], about="numbers", also=["two"])
    assert [line for line in capsys.readouterr().out.splitlines() if "made by" in line] == [
        "made by make one",
        "made by make two",
    ]
    page = results._Shown([], [results.load("one"), results.load("two")])._repr_html_()
    assert page.count("<details>") == 1
    assert page.count("<ul>") == 2


def test_what_is_missing_is_said_with_what_there_is(clone, tmp_path, monkeypatch):
    results.store("one", {"x": 1}, command="a")
    with pytest.raises(FileNotFoundError, match="'two'; there are: one"):
        results.load("two")
    with pytest.raises(ValueError, match="holds no sweep: give the head and the rows"):
        results.show("one")
    with pytest.raises(ValueError, match=r"one of \[\], got None"):
        results.sweep("one")
    (tmp_path / "_toc.yml").unlink()
    monkeypatch.setattr(results, "__file__", str(tmp_path / "a/b/c/results.py"))
    with pytest.raises(FileNotFoundError, match="as the first cell of each notebook in notebooks/ does"):
        results.load("one")


def test_a_number_that_is_none_keeps_the_old_file(clone):
    results.store("topic", {"x": 1}, command="a")
    with pytest.raises(ValueError, match="JSON compliant"):
        results.store("topic", {"x": float("nan")}, command="a")
    assert results.load("topic")["x"] == 1


@pytest.mark.parametrize("commit", [None, "0123456789 with changes"])
def test_changed_code_stores_nothing_and_is_told_so_before_it_trains(clone, monkeypatch, commit):
    monkeypatch.setattr(results, "_commit", lambda: commit)
    with pytest.raises(ValueError, match="this code must have a commit without changes"):
        results.begin()
    with pytest.raises(ValueError, match="Commit the code, then run the script; or give `path=` for a trial"):
        results.store("topic", {"x": 1}, command="a")
    assert not (clone / "benchmarks/results/topic.json").exists()
    trial = clone / "trial.json"
    results.begin(trial)
    results.store("topic", {"x": 1}, command="a", path=trial)
    assert json.loads(trial.read_text())["commit"] == commit


def test_the_commit_is_that_of_the_beginning(clone, monkeypatch):
    results.begin()
    monkeypatch.setattr(results, "_commit", lambda: "9999999999 with changes")
    results.store("topic", {"x": 1}, command="a")
    assert json.loads((clone / "benchmarks/results/topic.json").read_text())["commit"] == "0123456789"


def test_every_script_that_stores_says_at_its_beginning_whether_it_may():
    for path in (results.folder().parent).glob("*.py"):
        text = path.read_text()
        assert ("results.store(" in text) == ("results.begin(" in text), path.name


@pytest.mark.parametrize("commit", [None, "0123456789 with changes"])
def test_a_file_without_a_clean_commit_is_refused(clone, commit):
    results.store("topic", {"sweeps": {"SGD": found()}}, command="python benchmarks/x.py")
    path = clone / "benchmarks/results/topic.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"commit": commit}))
    wanted = (
        f"topic.json must have a commit without changes, .* it has {commit or 'none'}. Run `python benchm"
    )
    for call in (results.load, results.show, results.source, results.sweep):
        with pytest.raises(ValueError, match=wanted):
            call("topic")


def test_a_file_whose_commit_git_does_not_know_is_refused_where_there_is_a_history(clone):
    results.store("topic", {"x": 1}, command="python benchmarks/x.py")
    assert results.load("topic")["x"] == 1  # no history to ask

    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(
            ["git", *who, *words], cwd=clone, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("commit", "-q", "--allow-empty", "-m", "second")
    results._known.cache_clear()
    with pytest.raises(ValueError, match=r"topic.json .* git knows no 0123456789 here. Run `python"):
        results.load("topic")
    path = clone / "benchmarks/results/topic.json"
    path.write_text(json.dumps({"commit": git("rev-parse", "--short=10", "HEAD~1").strip(), "x": 2}))
    assert results.load("topic")["x"] == 2
    (clone / ".git/shallow").write_text(git("rev-parse", "HEAD"))  # as in Colab: a part of the history only
    path.write_text(json.dumps({"commit": "0123456789", "x": 3}))
    results._known.cache_clear()
    assert results.load("topic")["x"] == 3


def test_a_page_s_own_table_tells_what_its_sweeps_were_given(clone, capsys):
    sweeps = {"SGD": found(), "Adam": found()}
    results.store("topic", {"sweeps": sweeps}, command="a", seeds=range(2))
    results.show("topic", ["row"], [["a"]], about="rows", note="Of one kind.")
    text = capsys.readouterr().out
    assert "Of one kind. 3 learning rates a row tried by 2 seeds, the best by their mean end; 2 seeds" in text
    results.show("topic", ["row"], [["a"]], about="rows", which="SGD")
    assert results.sweep("topic", "SGD").note() in capsys.readouterr().out


def test_how_numbers_were_made_stands_in_the_fold(clone, capsys):
    results.store("topic", {"x": 1}, command="a", seeds=range(2))
    results.show("topic", ["row"], [["a"]], about="rows", folded="Ten runs & more.")
    assert "Ten runs & more.\nmade by" in capsys.readouterr().out
    table = results.tables.Table(["row"], [["a"]], about="rows")
    page = results._Shown([("", table)], [results.load("topic")], "Ten runs & more.")._repr_html_()
    assert "<summary>Where these numbers come from</summary><p>Ten runs &amp; more.</p><ul>" in page


def test_every_stored_file_names_a_clean_commit_before_this_one_that_has_its_script():
    root = results.folder().parents[1]

    def git(*words):
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)

    whole = git("rev-parse", "--is-shallow-repository").stdout == "false\n"
    for path in results.folder().glob("*.json"):
        stored = json.loads(path.read_text())
        assert re.fullmatch("[0-9a-f]{10}", stored["commit"] or ""), path.name
        if not whole:
            continue
        assert git("merge-base", "--is-ancestor", stored["commit"], "HEAD").returncode == 0, path.name
        script = stored["made by"].split()[1]
        assert git("cat-file", "-e", f"{stored['commit']}:{script}").returncode == 0, path.name


def test_every_stored_sweep_tells_width_budget_seeds_rates_and_how_often_it_was_looked_at():
    for path in results.folder().glob("*.json"):
        for which in json.loads(path.read_text()).get("sweeps", {}):
            found = results.sweep(path.stem, which)
            note = place = found.note()
            assert " wide" in note, place
            assert re.search(r"[\d,]+ (steps|epochs)", note), place
            assert re.search(r"(\d+|one) learning rates? a row tried by (\d|one)", note), place
            assert re.search(r"; (\d+ to )?\d+ seeds, mean ± standard deviation; looked at every", note), (
                place
            )


def test_every_stored_file_says_how_it_was_made():
    for path in results.folder().glob("*.json"):
        stored = json.loads(path.read_text())
        assert stored["made by"].startswith("python benchmarks/"), path.name
        assert not {"host", "hostname", "node"} & set(stored["machine"]), path.name
        for which in stored.get("sweeps", {}):
            assert results.sweep(path.stem, which).rows

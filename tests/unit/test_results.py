"""Stored results: found from anywhere, shown as they are stored, with where they come from."""

import json

import pytest
import torch

from attnlab import experiments, results


@pytest.fixture
def clone(tmp_path, monkeypatch):
    (tmp_path / "benchmarks/results").mkdir(parents=True)
    (tmp_path / "_toc.yml").touch()
    (tmp_path / "chapters").mkdir()
    monkeypatch.chdir(tmp_path / "chapters")
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
    shown = results._Shown([("SGD", results.sweep("topic", "SGD").as_table())], stored)
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


def test_every_stored_file_says_how_it_was_made():
    for path in results.folder().glob("*.json"):
        stored = json.loads(path.read_text())
        assert stored["made by"].startswith("python benchmarks/"), path.name
        assert not {"host", "hostname", "node"} & set(stored["machine"]), path.name
        for which in stored.get("sweeps", {}):
            assert results.sweep(path.stem, which).rows

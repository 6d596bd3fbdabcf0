"""The commands for those who change the book: a chapter is inserted, JupyterLab starts as root."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "_ext"), str(ROOT / "scripts")]

import dev
import insert_chapter
import marking
import readers
from attnlab_book import chapters, counts, terms
from attnlab_book.weight import weigh
from insert_chapter import RefusedError
from notebook_form import normalise, text

BOOK = [chapter for chapter in chapters.read(ROOT) if chapter.number is not None]
LAST = BOOK[-1].number
AT, TOPIC, TITLE = 5, "gated_recurrence", "Gates"


@pytest.mark.parametrize("root", [False, True])
def test_lab_starts_as_root_too_and_says_so_only_there(root, monkeypatch):
    ran = []
    monkeypatch.setattr(dev, "in_environment", lambda *command: ran.append(command) or 0)
    monkeypatch.setattr(dev, "is_root", lambda: root)
    monkeypatch.setattr(sys, "argv", ["dev.py", "lab", "--no-browser"])
    monkeypatch.chdir(ROOT)
    assert dev.main() == 0
    asked = ("--allow-root",) if root else ()
    assert ran == [("-m", "jupyterlab", "--notebook-dir", "notebooks", *asked, "--no-browser")]
    assert dev.lab_command(["--allow-root"], root=True).count("--allow-root") == 1


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository, as a fork has it."""
    folder = tmp_path_factory.mktemp("changing")
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def state(folder):
    kept = ("chapters", "notebooks", "README.md", "_toc.yml", "_ext")
    paths = [path for name in kept for path in [folder / name, *(folder / name).rglob("*")]]
    return {path: path.read_bytes() for path in paths if path.is_file() and path.suffix != ".pyc"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("Gates", AT), "a topic is small letters with _ between words"),
        (("masking", AT), "'masking' is the topic of another chapter"),
        (("gates", 0), f"--at must be 1 to {LAST + 1}"),
        (("gates", LAST + 2), f"the last chapter is {LAST}, got {LAST + 2}"),
        (("gates", AT, BOOK[0].title), "is no other chapter's"),
        (("gates", AT, "Gates | doors"), "a title has no brackets, bars or backticks"),
        (("gates", AT, "", "Part V: Beyond"), "at 5 the part can be “Part II: What makes it work”; got"),
        (("gates", LAST + 1, "", "Beyond"), "or a new one, as “Part V: The frontier”; got 'Beyond'"),
    ],
)
def test_what_can_not_be_is_refused_in_a_sentence(asked, said):
    with pytest.raises(RefusedError, match=re.escape(said)):
        insert_chapter.planned(ROOT, *asked)


def test_a_file_in_the_way_or_a_readers_work_stops_it_and_nothing_changes(copy, monkeypatch, capsys):
    monkeypatch.setattr(insert_chapter, "ROOT", copy)
    stray = copy / f"chapters/{AT:02}_{TOPIC}.ipynb"
    stray.write_text("{}")
    before = state(copy)
    assert insert_chapter.main([TOPIC, "--at", str(AT)]) == 1
    assert state(copy) == before
    assert capsys.readouterr().err == (
        f"chapters/{stray.name} is in the way: it is no chapter of _toc.yml\nNothing was changed.\n"
    )
    stray.unlink()
    path = copy / f"notebooks/{BOOK[-1].page.rpartition('/')[2]}.ipynb"
    kept = path.read_text()
    mine = nbformat.reads(kept, as_version=4)
    mine.cells[3].source += "\nmine"
    nbformat.write(mine, path)
    before = state(copy)
    assert insert_chapter.main([TOPIC, "--at", str(AT)]) == 1
    assert state(copy) == before
    assert "was changed by a reader" in capsys.readouterr().err
    path.write_text(kept)


@pytest.fixture(scope="module")
def inserted(copy):
    """The copy, with a chapter between two others."""
    change = insert_chapter.planned(copy, TOPIC, AT, TITLE)
    insert_chapter.carry_out(change)
    readers.write_all(copy)
    subprocess.run(["git", "add", "-A"], cwd=copy, check=True)
    return copy


def test_a_chapter_is_inserted_and_what_shows_numbers_follows(inserted):
    book = [chapter for chapter in chapters.read(inserted) if chapter.number is not None]
    assert [one.topic for one in book] == [
        *(one.topic for one in BOOK[: AT - 1]), TOPIC, *(one.topic for one in BOOK[AT - 1 :])
    ]  # fmt: skip
    assert [one.number for one in book] == list(range(1, LAST + 2))
    assert book[AT - 1].title == TITLE
    assert book[AT - 1].part == BOOK[AT - 1].part
    for folder in ("chapters", "notebooks"):
        there = sorted(path.stem for path in (inserted / folder).glob("[0-9]*.ipynb"))
        assert there == [one.page.rpartition("/")[2] for one in book]
    page = (inserted / "chapters/teachers.md").read_text()
    assert f"| {{chapter-title}}`{TOPIC}` | *to write* |" in page
    # In the plan of all chapters it shares a week with the one that it comes before.
    assert (
        page.count(f"\n{BOOK[AT - 2].topic}, {TOPIC}, {BOOK[AT - 1].topic}\n") == page.count(TOPIC) - 1 == 1
    )
    beliefs = (inserted / "chapters/beliefs.md").read_text()
    assert re.findall(r"^\{chapter-title\}`(\w+)`\n: \*\*.+\n\n", beliefs, re.MULTILINE) == [
        one.topic for one in book
    ]
    old = re.compile("|".join(one.page.rpartition("/")[2] for one in BOOK[AT - 1 :]))
    for name in ("README.md", "_toc.yml"):
        assert not old.search((inserted / name).read_text()), name


def test_the_books_own_tests_of_pages_pass_after_it(inserted, monkeypatch):
    named = importlib.util.spec_from_file_location("rules_of_pages", ROOT / "tests/test_repository.py")
    rules = importlib.util.module_from_spec(named)
    named.loader.exec_module(rules)
    book = chapters.read(inserted)
    written = [chapter for chapter in book if chapter.number is not None]
    for name, value in {"ROOT": inserted, "BOOK": book, "WRITTEN": written}.items():
        monkeypatch.setattr(rules, name, value)
    for rule in (
        rules.test_every_page_exists_and_every_notebook_is_stored_with_its_outputs,
        rules.test_every_notebook_starts_with_the_same_set_up_cell,
        rules.test_a_summary_is_plain_text_because_nothing_in_it_is_rendered,
        rules.test_no_text_types_the_number_of_a_chapter,
        rules.test_mentions_of_chapters_name_chapters_there_are,
        rules.test_lists_of_chapters_are_complete_and_in_order,
        rules.test_no_link_leads_to_the_markup_of_a_chapter,
        rules.test_commands_and_files_that_the_readme_names_exist,
    ):
        rule()


def test_the_skeleton_is_stored_as_a_chapter_is_and_its_minutes_are_the_rules(inserted):
    path = inserted / f"chapters/{AT:02}_{TOPIC}.ipynb"
    stored = path.read_text()
    notebook = nbformat.reads(stored, as_version=4)
    assert stored == text(normalise(nbformat.reads(stored, as_version=4)))
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert counts.minutes(prose) == (5 * round(weigh(notebook).minutes / 5), 0)
    assert len(marking.quiz(notebook.cells)) == 5
    assert f"What comes before stands in {{chapter}}`{BOOK[AT - 2].topic}`." in prose
    # A term that the glossary lacks would stop the build.
    used = [re.sub(r"^.*<|>$", "", term) for term in re.findall(r"\{term\}`([^`]+)`", prose)]
    assert len(used) > 4
    assert set(used) <= set(terms.read((ROOT / "chapters/glossary.md").read_text(encoding="utf-8")))
    (box,) = marking.predictions(notebook.cells)
    assert box.answer.startswith("B. Each token sees itself")
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output.get("name") != "stderr", output.text


def test_at_the_end_a_chapter_may_open_a_part(monkeypatch):
    monkeypatch.setattr(insert_chapter, "_skeleton", lambda *_: "")
    monkeypatch.setattr(insert_chapter, "minutes_of", lambda _: 5)
    change = insert_chapter.planned(ROOT, "gates", LAST + 1, part="Part IX: Beyond")
    assert change.renamed == []
    texts = {path.relative_to(ROOT).as_posix(): words for path, words in change.texts.items()}
    new = f"chapters/{LAST + 1:02}_gates"
    assert (
        f'  - caption: "Part IX: Beyond"\n    chapters:\n      - file: {new}\n  - caption: Back'
        in texts["_toc.yml"]
    )
    assert re.search(
        r"\n\| \*\*Part IX: Beyond\*\* \| \| \|\n\| \[Gates\]\(.*\| 5 \| \*to write\* \|\n\n",
        texts["README.md"],
    )
    (cell,) = [
        cell.source
        for cell in nbformat.reads(texts["chapters/index.ipynb"], as_version=4).cells
        if "Part IX" in cell.source
    ]
    cards = r"::::\{chapter-cards\}\n\| chapter .*\n.*\n\| .*`gates` \|.*\|\n::::"
    assert re.search(rf"\n::::\n\n### Part IX: Beyond\n\n{cards}\n\n## ", cell)

"""What must hold of the repository as a whole."""

import ast
import gzip
import hashlib
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import threading
import tomllib
import urllib.request
from importlib import import_module
from importlib.metadata import metadata
from pathlib import Path

import nbformat
import pytest
import yaml
from IPython.core.inputtransformer2 import TransformerManager
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from pybtex.database import parse_file
from pybtex.plugin import find_plugin
from pybtex.richtext import Text

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"
sys.path[:0] = [str(ROOT / "_ext"), str(ROOT / "scripts")]

import dev_serve
import dev_test
import set_address
from attnlab_book import chapters
from attnlab_book.pages import UNSET

import attnbook
import attnlab

BOOK = chapters.read(ROOT)
HOUSES = {"attnlab": attnlab, "attnbook": attnbook}
FLOORS = {
    (house, name): floor
    for house, package in HOUSES.items()
    for floor, line in enumerate(re.findall(r"^- (`.+`): ", package.__doc__, re.MULTILINE))
    for name in re.findall(r"`(\w+)`", line)
}
"""The floor of each module of a package, from the package's docstring."""
PACKAGES = [
    name
    for house, package in HOUSES.items()
    for name in (house, *(m.name for m in pkgutil.walk_packages(package.__path__, f"{house}.") if m.ispkg))
]
WRITTEN = [chapter for chapter in BOOK if chapter.number is not None]


def ours():
    """List what git has, or would take: a new file is held to the rules before it is added."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def texts():
    for path in ours():
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            assert path.suffix in {".png", ".safetensors", ".woff2"}, path


def pages():
    return chapters.pages(ROOT)


def lines_of_code(text):
    """Count the lines that hold code: no blank lines, no comments, no docstrings."""
    tree = ast.parse(text)
    docs = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            docs |= set(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and line.strip()[0] != "#" and n not in docs for n, line in lines)


def page_text(page):
    """Read the text of a page without its code and outputs."""
    if (ROOT / f"{page}.md").exists():
        return (ROOT / f"{page}.md").read_text(encoding="utf-8")
    cells = nbformat.read(ROOT / f"{page}.ipynb", as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def test_the_top_level_has_what_readers_look_for():
    for name in ("_config.yml", "_toc.yml", "chapters", "src", "requirements.txt", "tests", "README.md",
                 "LICENSE", "LICENSE-TEXT.md", "CITATION.cff", "CONTRIBUTING.md", "Makefile"):  # fmt: skip
        assert (ROOT / name).exists(), name


def test_no_file_names_a_machine_or_a_package_host():
    names = [r"(?<![\w.])/(work|root|home)/[a-z]", r"pypi\.org|pythonhosted|npmjs\.org|deb\.debian\.org"]
    for path, text in texts():
        if path == Path(__file__).resolve():
            continue
        for pattern in names:
            found = re.search(pattern, text)
            assert not found, f"{path.relative_to(ROOT)}: {found and found[0]}"


def of_the_book():
    """List what the book's package needs beside the library."""
    project = tomllib.loads((ROOT / "src/attnbook/pyproject.toml").read_text())["project"]
    first, *others = project["dependencies"]
    assert first == "attnlab[pretrained]"
    return others


def test_pins_are_exact_and_bounds_are_bounds():
    text = (ROOT / "requirements.txt").read_text()
    lines = [line for line in text.splitlines() if line and line[0] != "#"]
    assert len(lines) > 50
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[\w.]+", line) for line in lines), lines
    assert "torch==2.13.0" in lines
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(project["dependencies"]) == 1
    needs = [*project["dependencies"], *project["optional-dependencies"]["pretrained"], *of_the_book()]
    assert all(re.fullmatch(r"[a-z]+>=[\d.]+", need) for need in needs)
    pinned = {line.partition("==")[0].lower() for line in lines}
    assert {need.partition(">")[0] for need in needs} < pinned
    assert '"resolved"' not in (ROOT / "package-lock.json").read_text()
    wanted = json.loads((ROOT / "package.json").read_text())["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())


def test_every_pin_installs_on_the_first_python_that_the_package_allows():
    allowed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    first = allowed.removeprefix(">=") + ".0"  # Debian 12 has 3.11.2, and pins that ask for 3.11.5 fail there
    pins = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    asked = {name: metadata(name).get("Requires-Python", "") for name in pins}
    assert {name: asks for name, asks in asked.items() if first not in SpecifierSet(asks)} == {}


def test_nothing_that_colab_has_is_replaced():
    # Its kernel dies at the next start if, say, IPython is a newer one than it pins.
    listed = (ROOT / "scripts/colab.txt").read_text()
    brings = dict(re.findall(r"^([a-z]+)==([\d.]+)$", listed, re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs = [*project["dependencies"], *project["optional-dependencies"]["pretrained"], *of_the_book()]
    wanted = {need.name: need.specifier for need in map(Requirement, needs)}
    assert wanted.keys() - brings.keys() == {"conllu", "gguf"}, "only these two does Colab lack"
    kept = {name: brings[name] in bound for name, bound in wanted.items() if name in brings}
    assert [name for name, is_kept in kept.items() if not is_kept] == []
    assert re.search(r"with Python ([\d.]+)\.", listed)[1] in SpecifierSet(project["requires-python"])


def test_every_room_has_a_floor_and_every_floor_its_rooms():
    there = {
        (house, module.name)
        for house, package in HOUSES.items()
        for module in pkgutil.iter_modules(package.__path__)
    }
    assert there == FLOORS.keys()


@pytest.mark.parametrize("path", sorted(SOURCES.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCES)))
def test_a_module_is_short_and_imports_only_from_floors_below(path):
    text = path.read_text()
    assert lines_of_code(text) <= 300
    house, place = path.relative_to(SOURCES).parts[:2]
    place = place.removesuffix(".py")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            assert not {alias.name.partition(".")[0] for alias in node.names} & HOUSES.keys(), (
                "say from ... import"
            )
        if not isinstance(node, ast.ImportFrom) or (node.module or "").partition(".")[0] not in HOUSES:
            continue
        other, *parts = node.module.split(".")
        assert (house, other) != ("attnlab", "attnbook"), "the library knows nothing of the book"
        if other != house or place == "__init__":
            continue
        for room in parts[:1] or [alias.name for alias in node.names]:
            assert room == place or FLOORS[house, room] < FLOORS[house, place], f"{place} imports {room}"


@pytest.mark.parametrize("name", PACKAGES)
def test_no_function_or_class_hides_a_module_of_its_name(name):
    # `import attnlab.x as x` would give the function, and nothing else of the module could be reached.
    package = import_module(name)
    for module in pkgutil.iter_modules(package.__path__, f"{name}."):
        found = getattr(package, module.name.rpartition(".")[2], import_module(module.name))
        assert found is import_module(module.name), f"{found!r} hides the module {module.name}"


def test_one_word_for_one_thing():
    # A length that is a matter of speed is a block_size; what hides keys is a mask or a key_mask.
    other = {"chunk", "chunk_size", "block", "tile", "keep", "attn_mask"}
    library = SOURCES / "attnlab"
    for path in sorted(library.rglob("*.py")):
        place = path.relative_to(library).parts[0].removesuffix(".py")
        if FLOORS.get(("attnlab", place), 0) > FLOORS["attnlab", "sparse"]:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                names = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
                assert not names & other, f"{path.name}: {node.name} has {names & other}"


def test_every_exported_name_is_there_and_what_is_slow_to_import_waits_until_it_is_asked_for():
    code = (
        "import sys, torch; before = set(sys.modules); import attnlab;"
        "new = set(sys.modules) - before; print(*(name for name in new if not name.startswith('attnlab')));"
        "assert 'attnlab.patterns' not in new, 'half of the time of the import'"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == []
    for name in PACKAGES:
        package = import_module(name)
        assert all(hasattr(package, public) for public in getattr(package, "__all__", ()))


def test_every_entry_of_the_bibliography_is_closed_and_stands_once():
    # Two branches that each append an entry can merge into a file that lacks a brace.
    text = (ROOT / "chapters/references.bib").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{(\w+),\n(?:  .+\n)+\}$", text, re.MULTILINE)
    assert len(entries) == text.count("\n@") + text.startswith("@")
    assert len(set(entries)) == len(entries)


SAID_ELSEWHERE = {"yu2016orthogonal", "rush2018annotated", "tunstall2022natural"}
"""Sources that no section cites: the package uses one, and two taught who wrote the book."""
NO_NUMBER = {
    *("silveira2014gold", "explosion2022englishewt", "karpathy2023gpt", "alammar2018illustrated"),
    *("watson1964smooth", "radford2018improving", "rahimi2007random", "yu2022orca", "elhage2021mathematical"),
    *("nvidia2021a100", "nvidia2023h100", "nostalgebraist2020interpreting", "levesque2012winograd"),
    "nvidia2024h200",
    *("glorot2010understanding", "lee2021selfattention", "marcus1980theory", "bakouch2025smollm3"),
    *("transformers2026configurations", "miller2023attention", "dao2023flashdecoding", "tunstall2022natural"),
    *("deepseek2025configuration", "deepseek2026v4"),
}
"""Sources with neither DOI nor arXiv number: pages, lectures, data sheets, and papers that got none."""
CITED = re.compile(r"\{cite:[tp]\}`([^`]+)`")


def bibliography():
    return parse_file(str(ROOT / "chapters/references.bib")).entries


def keys(text):
    return {key.strip() for found in CITED.findall(text) for key in found.split(",")}


def test_every_source_says_in_a_sentence_what_it_gave_the_book_and_is_cited():
    entries = bibliography()
    page = (ROOT / "chapters/references.md").read_text(encoding="utf-8")
    told, _, rest = page.partition("## All entries")
    assert "{bibliography}" in rest
    assert keys(told) == entries.keys()
    for sentence in re.split(r"(?<=[.;?]) |\n+", told):
        if CITED.search(sentence):
            assert len(re.findall(r"\w+", CITED.sub("", sentence))) >= 3, sentence
    pages = [path for path in (ROOT / "chapters").rglob("*.md") if path.name != "references.md"]
    cited = {key for path in pages for key in keys(path.read_text(encoding="utf-8"))}
    for path in (ROOT / "chapters").glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            cited |= keys(cell.source) if cell.cell_type == "markdown" else set()
    assert cited == entries.keys() - SAID_ELSEWHERE


def test_a_source_is_found_by_its_number_or_its_address():
    for key, entry in bibliography().items():
        doi, address = entry.fields.get("doi", ""), entry.fields.get("url", "")
        paper = entry.fields.get("eprint", "") or address.partition("arxiv.org/abs/")[2]
        assert re.fullmatch(r"(10\.\d{4,}/\S+)?", doi), key
        assert re.fullmatch(r"(\d{4}\.\d{4,5})?", paper), key
        assert bool(doi or paper) == (key not in NO_NUMBER), key
        assert doi or paper or address or entry.type == "book", key
        # The Anthology's papers have numbers of their own, and these lead there.
        assert "aclanthology" not in address or paper or key in NO_NUMBER, key


NAMES = re.compile(
    r"\b(Transformers?|Performers|Python|Siamese|Google|Turing|Winograd|English|Universal|Dependencies|Llama"
    r"|Mistral|Gemma|Kimi Linear|Big Bird|Retentive Network|Gated Delta Networks|Tensor Core"
    r"|\w*[a-z0-9][A-Z]\w*|\w*[A-Z]{2}\w*)\b"
)


def test_titles_keep_the_capitals_of_names_and_of_what_follows_a_colon():
    plain = find_plugin("pybtex.backends", "plaintext")()
    style = find_plugin("pybtex.style.formatting", "plain")()
    shown = {
        one.key: " ".join(one.text.render(plain).split())
        for one in style.format_bibliography(parse_file(str(ROOT / "chapters/references.bib")))
    }
    for key, entry in bibliography().items():
        title = Text.from_latex(entry.fields["title"]).render(plain)
        first, *others = re.split(r"(?<=[:?!]) ", title)
        wanted = NAMES.findall(title) + [re.match(r"\w+", one)[0] for one in others]
        assert [word for word in wanted if word not in shown[key]] == [], key
        assert first[:2] in shown[key], key


def test_every_page_exists_and_every_notebook_is_stored_with_its_outputs():
    for page in pages():
        paths = [p for suffix in (".md", ".ipynb") if (p := ROOT / f"{page}{suffix}").exists()]
        assert len(paths) == 1, page
        if paths[0].suffix == ".md":
            continue
        notebook = nbformat.read(paths[0], as_version=4)
        assert "widgets" not in notebook.metadata
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert any(cell.outputs for cell in code)
        for cell in code:
            assert cell.execution_count, f"{page}: a cell was not run"
            for output in cell.outputs:
                assert output.output_type != "error", page
                assert "application/vnd.jupyter.widget-view+json" not in output.get("data", {}), page


def test_every_notebook_starts_with_the_same_set_up_cell():
    first = {nbformat.read(path, as_version=4).cells[0].source for path in ROOT.glob("chapters/*.ipynb")}
    assert len(first) == 1
    text = first.pop()
    assert 'SOURCE = "git+https://github.com/' in text
    assert '%pip install -q "attnlab @ {SOURCE}" "attnbook @ {BOOK}"' in text


def test_the_set_up_cell_installs_unless_the_package_is_there(tmp_path):
    source = nbformat.read(ROOT / FIRST, as_version=4).cells[0].source
    code = "from types import SimpleNamespace as N\nasked = []\n"
    code += "def get_ipython(): return N(run_line_magic=lambda *words: asked.append(words))\n"
    code += TransformerManager().transform_cell(source) + "print([name for name, _ in asked])"
    # A folder may be called as the package and be none: where it lies, Python would import it.
    for name in ("nothing", "clone/attnbook/src/attnbook", "package/attnbook"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "__init__.py").touch()
    for place, want in (("nothing", ["pip"]), ("clone", ["pip"]), ("package", [])):
        # -I and -S: nothing is there but the standard library.
        command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '')\n{code}"]
        done = subprocess.run(command, cwd=tmp_path / place, capture_output=True, text=True, check=True)
        assert ast.literal_eval(done.stdout) == want, place


def test_a_chapter_begins_beside_a_stand_in_for_googles_package(tmp_path):
    # As old ones and other services have it: without a widget manager.
    (tmp_path / "google/colab").mkdir(parents=True)
    (tmp_path / "google/__init__.py").touch()
    (tmp_path / "google/colab/__init__.py").write_text("class output: pass\n")
    source = nbformat.read(ROOT / FIRST, as_version=4).cells
    begins = "\n".join([cell.source for cell in source if cell.cell_type == "code"][1:2])
    assert "TagSentence" in begins
    paths = os.pathsep.join([str(tmp_path), str(SOURCES)])
    subprocess.run([sys.executable, "-c", begins], env=os.environ | {"PYTHONPATH": paths}, check=True)


def test_a_summary_is_plain_text_because_nothing_in_it_is_rendered():
    for page in pages():
        if (ROOT / f"{page}.ipynb").exists():
            cells = nbformat.read(ROOT / f"{page}.ipynb", as_version=4).cells
            text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
            assert not [
                line for line in re.findall(r"<summary>(.*?)</summary>", text) if {"$", "`"} & set(line)
            ], page


TYPED = re.compile(r"\bchapters?(?:\s|&nbsp;)+\d", re.IGNORECASE)


def test_no_text_types_the_number_of_a_chapter():
    # It stands in file names and _toc.yml; the text says {chapter}`masking`, and lists link to the files.
    names = re.compile("|".join(chapter.page.rpartition("/")[2] for chapter in WRITTEN))
    for path, text in texts():
        # The chapters of these tests are made up; the readers' edition is made from the chapters.
        if path.name in ("test_numbers.py", "test_readers.py") or path.parent.name == "notebooks":
            continue
        found = TYPED.search(text)
        assert not found, f"{path.relative_to(ROOT)}: {text[found.start() - 40 : found.end() + 20]!r}"
        if path.name not in ("_toc.yml", "README.md"):
            found = names.search(text)
            assert not found, f"{path.relative_to(ROOT)} names {found and found[0]}: find it by its topic"
    for page in pages():
        prose = re.sub(r"\$[^$]*\$|`[^`]*`|https?://\S+", "", page_text(page))
        found = re.search(r"(?<![\w.,:−–-])0\d(?![\w.,]\d|\w)", prose)
        assert not found, f"{page}: {prose[found.start() - 40 : found.end() + 20]!r}"


def test_mentions_of_chapters_name_chapters_there_are():
    for page in pages():
        for role, names in chapters.ROLE.findall(page_text(page)):
            assert chapters.resolve(BOOK, role, names)


def test_lists_of_chapters_are_complete_and_in_order():
    ordered = sorted(BOOK, key=lambda chapter: pages().index(chapter.page))
    row = re.compile(r"^\| \{chapter-title\}`(\w+)` \|", re.MULTILINE)
    assert row.findall(page_text("chapters/index")) == [chapter.topic for chapter in ordered]
    # For teachers: what to let a class predict.
    assert row.findall(page_text("chapters/teachers")) == [chapter.topic for chapter in WRITTEN]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    book = f"https://{set_address.pages(set_address.current(ROOT))}"
    rows = re.findall(r"^\| \[(.+?)\]\((\S+)\), \[notebook\]\((\S+)\) \|", readme, re.MULTILINE)
    assert rows == [
        (
            chapter.title,
            f"{book}/{chapter.page}.html",
            f"{chapter.page.replace('chapters/', 'notebooks/')}.ipynb",
        )
        for chapter in WRITTEN
    ]
    assert all((ROOT / notebook).is_file() for _, _, notebook in rows)
    assert f"<{book}/>" in readme.partition("![")[0]
    parts = list(dict.fromkeys(chapter.part for chapter in ordered))
    assert re.findall(r"^### (Part .+)$", page_text("chapters/index"), re.MULTILINE) == parts
    assert re.findall(r"^\| \*\*(Part .+?)\*\*", readme, re.MULTILINE) == parts
    numbers = [chapter.number for chapter in WRITTEN]
    assert numbers == sorted(set(numbers))
    assert all(chapter.title and chapter.part for chapter in BOOK)


def test_no_link_leads_to_the_markup_of_a_chapter():
    """Hosts of code show it raw; the page and the readers' notebook are what is meant to be read."""
    for name in ("README.md", "CONTRIBUTING.md", *(f"{page}.md" for page in pages())):
        if (ROOT / name).exists():
            assert not re.findall(
                r"\]\((?:\S*/)?chapters/\S+\.ipynb", (ROOT / name).read_text(encoding="utf-8")
            ), name


def test_a_chapter_that_is_written_is_no_longer_promised():
    if (ROOT / f"{chapters.COMING}.md").exists():
        promised = chapters.PROMISED.findall((ROOT / f"{chapters.COMING}.md").read_text())
        assert promised
        assert not {topic for topic, _ in promised} & {chapter.topic for chapter in WRITTEN}


def test_commands_and_files_that_the_readme_names_exist():
    dev = (ROOT / "scripts/dev.py").read_text()
    for name in ("README.md", "CONTRIBUTING.md", "chapters/teachers.md"):
        text = (ROOT / name).read_text()
        for command in re.findall(r"`make ([a-z]+)|^make ([a-z]+)", text, re.MULTILINE):
            assert f'"{command[0] or command[1]}"' in dev, command
        for named in re.findall(r"`((?:src|tests|scripts|chapters|benchmarks|_static)/[\w./-]+\w)`", text):
            # "share" is the example's: tests/book/test_contributing.py makes those files.
            if not re.search("NN|NAME|TOPIC|share", named) and "*" not in named:
                assert (ROOT / named).exists(), f"{name}: {named}"


def test_make_test_runs_every_test():
    words = [word for command in dev_test.steps().values() for word in command]
    named = {word.partition("::")[0] for word in words}
    missing = [
        path.relative_to(ROOT)
        for path in (*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "tests").rglob("*.test.mjs"))
        if not {str(part.relative_to(ROOT)) for part in (path, *path.parents[: -len(ROOT.parents) - 1])}
        & named
    ]
    assert missing == []
    book = [word for word in words if word.startswith("tests/book/")]
    assert len(book) == len(set(book))  # none in both halves
    run = [word.partition("[")[2].rstrip("]") for word in words if "cold_run_gives" in word]
    assert sorted(run) == sorted(path.stem for path in ROOT.glob("chapters/*.ipynb"))


def test_the_workflow_tries_every_kind_of_processor_with_one_thread_and_two():
    (job,) = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"].values()
    runs = job["strategy"]["matrix"]["include"]
    assert {run["capability"] for run in runs} == {"default", "avx2", "avx512"}
    assert {run["threads"] for run in runs} == {1, 2}
    assert {run["python"] for run in runs} == {"3.11", "3.12", "3.13"}
    given = job["steps"][-1]["env"]
    assert given["ATEN_CPU_CAPABILITY"] == "${{ matrix.capability }}"
    assert given["OMP_NUM_THREADS"] == "${{ matrix.threads }}"
    # What is asked for reaches the steps.
    assert set(dev_test.threads({}).values()) == {"1"}
    assert set(dev_test.threads({"OMP_NUM_THREADS": "2"}).values()) == {"2"}
    kinds = {kind: dev_test.kind({"ATEN_CPU_CAPABILITY": kind}) for kind in ("default", "avx2", "avx512")}
    name = "ONEDNN_MAX_CPU_ISA"
    assert kinds == {"default": {name: "AVX512_CORE"}, "avx2": {name: "AVX512_CORE"}, "avx512": {}}
    assert dev_test.kind({"ATEN_CPU_CAPABILITY": "default", name: "ALL"}) == {name: "ALL"}
    assert dev_test.kind({}) == {}


def test_where_readers_run_it_has_a_python_that_the_package_allows():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    name, version = (ROOT / ".binder/runtime.txt").read_text().strip().split("-")
    assert name == "python"
    assert version in SpecifierSet(wanted)
    # What the link of the hub opens, and what the workflow runs.
    link = re.search(r"git-pull\?(\S+)", (ROOT / "chapters/teachers.md").read_text())[1]
    asks = dict(part.split("=", 1) for part in link.split("&"))
    assert set(asks) == {"repo", "branch", "targetpath", "urlpath"}
    assert (ROOT / asks["urlpath"].removeprefix(f"lab/tree/{asks['targetpath']}/")).is_file()
    jobs = yaml.safe_load((ROOT / ".github/workflows/elsewhere.yml").read_text())["jobs"]
    commands = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    files = re.findall(r"(?:scripts|notebooks)/\S+\.(?:py|ipynb|txt)", commands)
    assert len(files) > 3
    assert all(list(ROOT.glob(name)) for name in files)


def test_a_notebook_is_tried_elsewhere_with_the_repository_that_is_here(tmp_path):
    import elsewhere

    settings = elsewhere.surroundings(tmp_path)
    source = nbformat.read(ROOT / FIRST, as_version=4).cells[0].source
    address = re.search(r"git\+(https://[^\"]+)", source)[1]
    fetched = subprocess.run(
        ["git", "ls-remote", "--get-url", address],
        env=os.environ | settings, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert fetched.stdout.strip() == ROOT.as_uri()
    kernel = json.loads((tmp_path / "kernels/colab/kernel.json").read_text())
    assert "google.colab._kernel" in kernel["argv"][2]


def test_the_readmes_snippet_runs(capsys):
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(snippet, "README.md", "exec"), {})
    assert capsys.readouterr().out == "torch.Size([2, 5, 16])\n('PRON', 'VERB', 'DET', 'NOUN')\n"


def test_the_citation_has_the_address():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    assert citation["repository-code"] == config["repository"]["url"]


OTHERS = "ada/attention-book"
"""Where a fork may lie; nothing here is called so."""


@pytest.fixture
def copy(tmp_path):
    for path in ours():
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


FIRST = f"{WRITTEN[0].page}.ipynb"


def asked(folder, *arguments):
    command = [sys.executable, "scripts/set_address.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_one_command_sets_the_address_everywhere(copy):
    before, here = (copy / FIRST).read_text(), set_address.current(ROOT)
    assert asked(copy, "--check").returncode == 0
    done = asked(copy, OTHERS)
    assert done.returncode == 0, done.stderr
    for asks in ("--check", "--release"):
        assert asked(copy, asks).returncode == 0
    readme = (copy / "README.md").read_text()
    assert readme.count("https://ada.github.io/attention-book/") == len(WRITTEN) + 1
    assert set_address.pages(here) not in readme
    assert "until the address is set" not in readme
    (copy / "README.md").write_text(readme.replace("//ada.github.io", "//grace.github.io"))
    assert "README.md shows grace.github.io/attention-book" in asked(copy, "--check").stdout
    (copy / "README.md").write_text(readme)
    for name in (*set_address.PLACES, FIRST):
        text = (copy / name).read_text()
        assert OTHERS in text, name
        assert here not in text, name
    for stored in (copy / FIRST, copy / FIRST.replace("chapters/", "notebooks/")):
        cell = nbformat.read(stored, as_version=4).cells[0]
        # The packages are called attnlab and attnbook, whatever the repository is called.
        assert f'SOURCE = "git+https://github.com/{OTHERS}"' in cell.source
        assert '"attnlab @ {SOURCE}" "attnbook @ {BOOK}"' in cell.source
        assert cell.id == hashlib.sha256(f"code\n{cell.source}".encode()).hexdigest()[:8]
    assert f"?repo=https://github.com/{OTHERS}&branch=main&targetpath=attnlab&" in (
        (copy / "chapters/teachers.md").read_text()
    )
    assert asked(copy, here).returncode == 0
    assert (copy / FIRST).read_text() == before


def test_a_fork_with_an_address_and_a_teachers_folder_passes_what_is_tested_of_them(copy):
    """`weekly.yml` runs the two commands and then all tests; here are those that speak of an address."""
    # Not OTHERS: the tests in the copy go there from where it lies.
    assert asked(copy, "grace/notes-on-attention").returncode == 0
    (copy / "teacher/students").mkdir(parents=True)
    shutil.copy(copy / FIRST, copy / "teacher/students")
    lint = [sys.executable, "-m", "ruff", "check", "--quiet", "--no-cache", "."]
    done = subprocess.run(lint, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    subprocess.run(["git", "add", "-A"], cwd=copy, check=True)
    chosen = "address or disagrees or released or lists_of or set_up_cell or where_readers or elsewhere"
    asks = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "tests/test_repository.py",
        "-k",
        f"({chosen}) and not fork",
    ]
    done = subprocess.run(asks, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("address", ["", "ada", "ada/", "/x", "a b/c", "ada/x/y", "https://github.com/ada/x"])
def test_a_bad_address_is_refused(tmp_path, address):
    with pytest.raises(ValueError, match="must look like owner/name") as refused:
        set_address.change(tmp_path, address)  # before anything is read
    assert repr(address) in str(refused.value)


def test_a_bad_address_changes_nothing(copy):
    for address in ("ada", "-a/b"):
        done = asked(copy, address)
        assert done.returncode != 0
        assert done.stderr.strip()
        assert "Traceback" not in done.stderr
    assert set_address.current(copy) == set_address.current(ROOT)


def test_one_place_that_disagrees_is_reported(copy):
    file = copy / "CITATION.cff"
    file.write_text(file.read_text().replace(set_address.current(ROOT), "someone/attnlab-of-theirs"))
    done = asked(copy, "--check")
    assert done.returncode == 1
    assert "CITATION.cff" in done.stdout + done.stderr


def test_nothing_is_released_without_an_address(copy):
    setting = copy / "_config.yml"
    for path in set_address.files(copy):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(set_address.current(ROOT), f"{UNSET}/attnlab"), encoding="utf-8")
    assert set_address.current(copy) == f"{UNSET}/attnlab" in setting.read_text()
    done = asked(copy, "--release")
    assert done.returncode == 1
    assert f"{UNSET}/attnlab stands in for an address" in done.stdout


def test_nothing_is_published_untested():
    """What publishes waits for what tests, and asks for an address first."""
    flows = {path.name: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").iterdir()}
    ((jobs, publishing),) = [
        (flow["jobs"], job)
        for flow in flows.values()
        for job in flow["jobs"].values()
        if any("deploy-pages" in step.get("uses", "") for step in job.get("steps", ()))
    ]
    (waits_for,) = [jobs[one] for one in [publishing["needs"]]]
    assert waits_for["uses"].endswith("/test.yml")
    # YAML 1.1 reads the key `on` as true.
    assert "workflow_call" in flows["test.yml"][True]
    # On main the tests run once: before the book is published.
    assert "main" not in str(flows["test.yml"][True].get("push", ""))
    asks = [step.get("run", "") for step in publishing["steps"]]
    assert any("address --release" in one for one in asks[: asks.index("make html")])
    every_week = "\n".join(
        step.get("run", "")
        for flow in flows.values()
        if "schedule" in flow[True]
        for job in flow["jobs"].values()
        for step in job.get("steps", ())
    )
    assert "make mutants" in every_week
    assert re.search(r"make address REPO=.*\n.*make teacher\n.*\.ci/run", every_week)


def test_the_books_server_compresses_text_and_gives_what_lies_there(tmp_path, monkeypatch):
    monkeypatch.setattr(dev_serve.Handler, "log_message", lambda *_: None)
    (tmp_path / "index.html").write_text("<p>saw</p>" * 1000)
    (tmp_path / "font.woff").write_bytes(b"saw" * 1000)
    with dev_serve.server(tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, accepted, pressed in (
            ("", "gzip", True),
            ("index.html", "", False),
            ("font.woff", "gzip", False),
        ):
            asked = urllib.request.Request(
                f"http://127.0.0.1:{server.server_port}/{name}", headers={"Accept-Encoding": accepted}
            )
            with urllib.request.urlopen(asked) as answer:
                body = answer.read()
            assert (answer.headers["Content-Encoding"] == "gzip") == pressed, name
            assert int(answer.headers["Content-Length"]) == len(body)
            body = gzip.decompress(body) if pressed else body
            assert body == (tmp_path / (name or "index.html")).read_bytes()
        server.shutdown()

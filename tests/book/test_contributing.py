"""CONTRIBUTING.md, followed as it stands: the figure that it adds is built, checked and dragged."""

import doctest
import json
import re
import shlex
import shutil
import subprocess
import sys
import types

import dev_test
import pytest
import torch
from attnlab_book import assets

from attnbook import widgets
from attnbook.widgets import figure as base

from .conftest import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Add a figure\n")[2].partition("\n## ")[0]


COPIED = (
    "src/widgets",
    "src/book",
    "src/attnbook/widgets",
    "src/attnbook/tables.py",
    "tests/widgets/compare.mjs",
    "tests/widgets/goldens",
    "scripts/build_widgets.mjs",
    "tsconfig.json",
    "package.json",
    "pyproject.toml",
)


def plain(block):
    return "\n".join(line.removeprefix("   ") for line in block.split("\n")) + "\n"


def blocks():
    """Read each file of the example: what stands in code right behind the paragraph that names it last."""
    found, rest = {}, SECTION
    while fence := re.search(r"^   ```(?:js|python)\n(.*?)^   ```$", rest, re.MULTILINE | re.DOTALL):
        named = re.findall(
            r"`((?:src|tests)/[\w./]+\.(?:js|mjs|py))`", rest[: fence.start()].split("\n\n")[-2]
        )
        found[named[-1] if "Add to" not in rest[: fence.start()] else named[0]] = plain(fence[1].rstrip("\n"))
        rest = rest[fence.end() :]
    return found


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The figures' sources in a folder of their own, with the example's files among them, built."""
    folder = tmp_path_factory.mktemp("contributing")
    for name in COPIED:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, target)
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    for name, content in blocks().items():
        path = folder / name
        assert not (ROOT / name).exists() or name == "tests/widgets/make_goldens.py", (
            f"{name} is there already"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    space = {"torch": torch}
    exec(blocks()["tests/widgets/make_goldens.py"], space)
    (folder / "tests/widgets/goldens/share.json").write_text(json.dumps(space["share"]()))
    done = subprocess.run(["node", "scripts/build_widgets.mjs"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def kind(copy):
    """The example's class, as if it were registered as the page says."""
    patch = pytest.MonkeyPatch()
    patch.setattr(base, "STATIC", copy / "src/attnbook/static")
    (line,) = re.findall(r"`from (attnbook\.widgets\.share) import (\w+)`", SECTION)
    module = types.ModuleType(line[0])
    module.__file__ = str(copy / "src/attnbook/widgets/share.py")
    patch.setitem(sys.modules, line[0], module)
    exec(compile(blocks()["src/attnbook/widgets/share.py"], module.__file__, "exec"), vars(module))
    found = getattr(module, line[1])
    patch.setattr(widgets, line[1], found, raising=False)
    assert f"`.. autoclass:: attnbook.widgets.{line[1]}`" in SECTION
    assert f"`widgets.{line[1]}(1.0)`" in SECTION
    yield found
    patch.undo()


def test_the_example_is_whole_and_its_types_hold(copy):
    assert sorted(blocks()) == [
        "src/attnbook/widgets/share.py",
        "src/widgets/math/share.js",
        "src/widgets/share.js",
        "tests/book/test_share.py",
        "tests/widgets/make_goldens.py",
        "tests/widgets/share.test.mjs",
    ]
    assert "`npx tsc -p tsconfig.json` checks the types" in SECTION
    # The figure and what it imports: all others are checked in test_goldens.py.
    mine = {"extends": "./tsconfig.json", "include": ["src/widgets/share.js", "src/widgets/**/*.d.ts"]}
    (copy / "tsconfig.mine.json").write_text(json.dumps(mine))
    command = ["npx", "--no-install", "tsc", "-p", "tsconfig.mine.json"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    tests = ["node", "--test", "tests/widgets/share.test.mjs"]
    done = subprocess.run(tests, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_its_python_is_in_form_and_says_what_it_promises(copy, kind):
    files = [name for name in blocks() if name.endswith(".py") and "goldens" not in name]
    for what in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *what, "--quiet", "--no-cache", *files]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
    module = sys.modules[kind.__module__]
    ran = doctest.testmod(module)
    assert ran.attempted
    assert not ran.failed
    assert "<td>0.27</td>" in kind(1.0).table()
    assert kind(1.0).caption() in kind(1.0)._repr_html_()
    with pytest.raises(ValueError, match="lead must be between -5 and 5, got 6"):
        kind(6)


def test_what_the_page_says_to_type_is_there_and_says_what_it_shows():
    (code,) = re.findall(r"python -c '(from attnbook\.checks import judge; [^']+)'", PAGE)
    said = []
    exec(code, {"print": said.append})
    (shown,) = re.findall(r"This prints `(.*?) …`", PAGE, re.DOTALL)
    assert said[0].startswith(shown)
    # Each step that the page names as an example is one, and a word chooses what it says.
    asked = re.findall(r"`python3 scripts/dev\.py test ([^`]+)`", PAGE)
    assert len(asked) == 3
    for words in map(shlex.split, asked):
        chosen = [name for name in dev_test.steps() if any(word in name for word in words)]
        assert len(chosen) >= len(words), words
    for name in re.findall(r"(?:python -m pytest -q |`node --test )(tests/[\w/.]+)", PAGE):
        path = ROOT / name
        assert path.exists() or path.name in ("test_share.py", "share.test.mjs", "NAME.test.mjs"), name
    ignored = subprocess.run(["git", "check-ignore", "draft.md"], cwd=ROOT, capture_output=True, text=True)
    assert ignored.stdout == "draft.md\n"


def test_its_behaviour_in_a_page_is_what_its_own_test_asks(book, site, page_with, copy, kind):
    script = (copy / "src/attnbook/static/share.js").read_text(encoding="utf-8")
    (shown,) = {path.parent for path in (book / "_static").rglob("figures/*.js")}
    target = shown / "share.js"
    target.write_text(assets.classic("share", script), encoding="utf-8")
    try:
        space = {"__package__": __package__, "__name__": f"{__package__}.test_share"}
        code = blocks()["tests/book/test_share.py"].replace('@pytest.fixture(scope="module")\n', "")
        exec(code, space)
        (test,) = [value for name, value in space.items() if name.startswith("test_")]
        test(site, space["bench"](page_with))
    finally:
        target.unlink()

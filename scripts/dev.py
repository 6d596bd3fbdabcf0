"""Every command of the repository, with and without make; needs Python 3.11 or newer and nothing else.

python scripts/dev.py book          set up, build the book, serve it on this machine
python scripts/dev.py html          set up and build the book
python scripts/dev.py test          set up and run every test
python scripts/dev.py torches       run unit tests and exercises with the lowest and the newest torch (or one)
python scripts/dev.py notebooks     run the notebooks again and store their outputs (a name runs only those)
python scripts/dev.py treebank      train the taggers on the treebank, store benchmarks/results/tagging.json
python scripts/dev.py widgets       build the figures' scripts from src/widgets (needs Node)
python scripts/dev.py lab           open the notebooks in JupyterLab
python scripts/dev.py teacher       write teacher/: notebooks without solutions, slides, marks and answers
python scripts/dev.py quizzes       write the quizzes for Moodle and Canvas to _build/quizzes
python scripts/dev.py address ME/X  set the repository's address everywhere it shows
python scripts/dev.py insert-chapter TOPIC --at N   make room for a chapter, and write its skeleton
python scripts/dev.py bench         run the benchmarks that need no treebank (a name runs only that one)
python scripts/dev.py mutants       break the package in many places; each time a test must fail
python scripts/dev.py screenshot    draw the README's picture from the built book
python scripts/dev.py stills        draw what stands for the figures where no script runs
python scripts/dev.py pdf           build the book and print it to _build/pdf (a topic prints only its page)
python scripts/dev.py clean         delete what was built; the environment stays
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - whoever calls this may have any Python
    sys.exit(f"attnlab needs Python 3.11 or newer; this is {sys.version.split()[0]} at {sys.executable}")

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import dev_serve  # noqa: E402 - found through the line above
import dev_setup  # noqa: E402
import dev_test  # noqa: E402
import dev_torches  # noqa: E402

NEED_TREEBANK = ("tagging", "ship_tagger")
BUILT = ("_build", ".pytest_cache", ".ruff_cache", ".hypothesis")


def html() -> int:
    """Build the book; any warning is an error."""
    dev_setup.environment()
    began = time.monotonic()
    done = subprocess.run(dev_setup.build_command(), cwd=ROOT, env=dev_setup.variables())
    if done.returncode == 0:
        print(f"Built in {time.monotonic() - began:.0f} s: {Path('_build/html/index.html')}")
    return done.returncode


def book() -> int:
    """Build the book and serve it until Ctrl-C."""
    return html() or serve(ROOT / "_build/html")


def serve(folder: Path) -> int:
    """Serve a folder on this machine alone, on port 8000 or the next free one."""
    with dev_serve.server(folder) as server:
        print(f"\nThe book is at http://localhost:{server.server_port}/   (Ctrl-C ends)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


def clean() -> int:
    """Delete what was built."""
    for name in BUILT:
        shutil.rmtree(ROOT / name, ignore_errors=True)
    for cache in (*ROOT.glob("src/**/__pycache__"), *ROOT.glob("tests/**/__pycache__")):
        shutil.rmtree(cache, ignore_errors=True)
    return 0


def in_environment(*command: str) -> int:
    """Set up, then run a module or script of the environment's Python."""
    dev_setup.environment()
    return subprocess.run([dev_setup.python(), *command], cwd=ROOT, env=dev_setup.variables()).returncode


def is_root() -> bool:
    """Say whether this runs as root, as in most containers; Windows has none."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def lab_command(rest: list[str], *, root: bool) -> list[str]:
    """Return how JupyterLab is started. As root it wants to be told that this is meant."""
    meant = ["--allow-root"] if root and "--allow-root" not in rest else []
    return ["-m", "jupyterlab", "--notebook-dir", "notebooks", *meant, *rest]


def bench(rest: list[str]) -> int:
    """Run benchmarks/NAME.py with the rest as its options; without a name, all that need no treebank."""
    names = sorted(path.stem for path in ROOT.glob("benchmarks/*.py") if path.stem not in NEED_TREEBANK)
    if rest and not rest[0].startswith("-"):
        if rest[0] not in names:
            raise dev_setup.SetupError(f"no benchmark is called {rest[0]}; there are: {', '.join(names)}")
        names, rest = rest[:1], rest[1:]
    return max([in_environment(f"benchmarks/{name}.py", *rest) for name in names])


def widgets() -> int:
    """Build the figures' scripts."""
    dev_setup.node_modules()
    return subprocess.run([shutil.which("node"), "scripts/build_widgets.mjs"], cwd=ROOT).returncode


def main() -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage="dev.py COMMAND"
    )
    commands = {
        "book": book,
        "html": html,
        "test": lambda: dev_test.main(rest),
        "torches": lambda: dev_torches.main(rest),
        "notebooks": lambda: in_environment("scripts/notebooks.py", *rest),
        "treebank": lambda: in_environment("benchmarks/tagging.py", *rest),
        "widgets": widgets,
        "lab": lambda: in_environment(*lab_command(rest, root=is_root())),
        "teacher": lambda: in_environment("scripts/teacher.py", *rest),
        "quizzes": lambda: in_environment("scripts/quizzes.py", *rest),
        "address": lambda: in_environment("scripts/set_address.py", *rest),
        "insert-chapter": lambda: in_environment("scripts/insert_chapter.py", *rest),
        "bench": lambda: bench(rest),
        "mutants": lambda: in_environment("tests/mutants/run.py", *rest),
        "screenshot": lambda: in_environment("scripts/screenshot.py", *rest),
        "stills": lambda: in_environment("scripts/stills.py", *rest),
        "pdf": lambda: html() or in_environment("scripts/pdf.py", *rest),
        "clean": clean,
    }
    parser.add_argument("command", choices=commands, metavar="COMMAND")
    arguments, rest = parser.parse_known_args()
    os.chdir(ROOT)
    try:
        return commands[arguments.command]()
    except dev_setup.SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())

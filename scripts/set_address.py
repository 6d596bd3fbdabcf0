"""Sets the repository's address everywhere it shows: settings, badges, Colab cells, README, citation.

set_address.py me/attnlab    change it
set_address.py --check       say whether every place agrees with `repository: url:` in _config.yml
set_address.py --release     the same, and that it is an address at all: what is published leads somewhere
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import readers
from attnlab_book.pages import UNSET
from notebook_form import normalise, text, write
from source import current, is_set, pages

ROOT = Path(__file__).resolve().parent.parent
UNTIL_SET = re.compile(r"<!-- until the address is set -->\n.*?\n\n", re.DOTALL)
"""A paragraph that goes with the first address."""
FORM = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}")
# Whatever repository the package is fetched or launched from, under any host's way of writing it.
SHOWN = r"(?:github\.com/|gh/|github/)([A-Za-z0-9-]+/{name})(?![\w-])"
PUBLISHED = r"([A-Za-z0-9-]+\.github\.io/{name})(?![\w-])"
PLACES = ("_config.yml", "CITATION.cff", "pyproject.toml", "README.md", "chapters/teachers.md")
SUFFIXES = {
    ".yml",
    ".yaml",
    ".md",
    ".cff",
    ".toml",
    ".ipynb",
    ".py",
    ".js",
    ".mjs",
    ".html",
    ".txt",
    ".json",
    "",
}


def files(root: Path) -> list[Path]:
    """List the text files of the repository; the tests speak of made-up addresses and are left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True
    )
    paths = [root / name for name in listed.stdout.splitlines() if not name.startswith("tests/")]
    return [
        path for path in paths if path.suffix in SUFFIXES and path.is_file() and path.stat().st_size < 3e6
    ]


def change(root: Path, new: str) -> list[Path]:
    """Write the new address into every file that shows the old one; return those files.

    Raises:
        ValueError: `new` is not of the form owner/name.
    """
    if not FORM.fullmatch(new):
        raise ValueError(f"the address must look like owner/name, for example ada/attnlab; got {new!r}")
    old = current(root)
    changed = []
    for path in files(root):
        if path == root / "scripts/set_address.py":
            continue
        before = path.read_text(encoding="utf-8")
        after = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, before)
        after = after.replace(pages(old), pages(new))
        if new.split("/")[0] != UNSET:
            after = UNTIL_SET.sub("", after)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(path)
    for path in changed:
        if path.parent == root / "chapters" and path.suffix == ".ipynb":
            # A cell's id comes from its text.
            write(path, text(normalise(nbformat.read(path, as_version=4))))
    if changed:
        readers.write_all(root)
    return changed


def disagreements(root: Path) -> list[str]:
    """Say where another address stands than the one in _config.yml, or none where one should."""
    address = current(root)
    repository = re.escape(address.split("/")[1])
    forms = {
        address: re.compile(SHOWN.format(name=repository)),
        pages(address): re.compile(PUBLISHED.format(name=repository)),
    }
    found = []
    for path in files(root):
        content = path.read_text(encoding="utf-8")
        name = path.relative_to(root).as_posix()
        for wanted, form in forms.items():
            found += [f"{name} shows {other}" for other in sorted(set(form.findall(content)) - {wanted})]
        if name in PLACES and address not in content:
            found.append(f"{name} does not show {address}")
        if path.suffix == ".ipynb" and f"github.com/{address}" not in content:
            found.append(f"{name} has no set-up cell for Colab that installs from {address}")
    return found


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("address", nargs="?", metavar="owner/name")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--release", action="store_true")
    arguments = parser.parse_args()
    if arguments.check or arguments.release:
        wrong = disagreements(ROOT)
        if arguments.release and not is_set(ROOT):
            wrong.append(f"{current(ROOT)} stands in for an address: make address REPO=owner/name sets it")
        print("\n".join(wrong) if wrong else f"every place shows {current(ROOT)}")
        return int(bool(wrong))
    if not arguments.address:
        parser.error("which address? make address REPO=owner/name")
    try:
        changed = change(ROOT, arguments.address)
    except (ValueError, readers.ChangedError) as error:
        print(error, file=sys.stderr)
        return 1
    for path in changed:
        print(path.relative_to(ROOT))
    print(f"{len(changed)} files now show {arguments.address}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Sets up what the commands need, once: the Python environment, Node's packages, a browser.

Each step leaves a stamp with the hash of the file that it was made from, and is done again when that changes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PACKAGES = (".", "src/attnbook")
# The headless shell draws pages and has no window around them to draw: the tests take less time.
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
MAC_BROWSERS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


class SetupError(Exception):
    """Something that the reader has to put right; its text says what."""


def python(folder: Path = VENV) -> str:
    """Name an environment's Python."""
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def variables(folder: Path = VENV) -> dict[str, str]:
    """Return the variables that every step in an environment runs with."""
    found = dict(os.environ)
    # The environment's own commands first: notebooks start their kernel by name.
    found["PATH"] = f"{Path(python(folder)).parent}{os.pathsep}{found.get('PATH', '')}"
    found["VIRTUAL_ENV"] = str(folder)
    found.pop("PYTHONHOME", None)
    beside = ROOT.parent / "shared/data/ewt"
    if "ATTNLAB_DATA" not in found and beside.is_dir():
        found["ATTNLAB_DATA"] = str(beside)
    return found


def build_command(*extra: str) -> list[str]:
    """Return the command that builds the book; any warning is an error.

    --all: the API page must follow the docstrings, and every page the templates.
    """
    options = ["-W", "--keep-going", "-n", "--all", "-q"]
    # Pages are read back as hundreds of thousands of nodes: Python's collector, which goes through them again
    # and again and finds nothing, took a third of the time.
    program = "import gc; gc.set_threshold(200_000, 50, 100); from jupyter_book.cli.main import main; main()"
    return [python(), "-c", program, "build", *options, *extra, "."]


def environment() -> None:
    """Make .venv with the pinned packages and our own two, unless they are there and up to date."""
    stamp = _stamp(VENV, "requirements.txt", *(f"{place}/pyproject.toml" for place in PACKAGES))
    if stamp.exists() and Path(python()).exists():
        return
    install(VENV, ROOT / "requirements.txt")
    _write(stamp)


def install(folder: Path, requirements: Path) -> None:
    """Bring an environment to what a file asks for, the packages themselves beside it."""
    if not Path(python(folder)).exists():
        print(f"Making {folder.relative_to(ROOT)} with Python {sys.version.split()[0]}", flush=True)
        venv.create(folder, with_pip=True)
    if any(folder.glob(".attnlab-*")):
        print("Installing again what has changed (what fits is kept)", flush=True)
    else:
        print("Installing the pinned packages (about 1 GB; a few minutes the first time)", flush=True)
    _pip(folder, "install", "--upgrade", "-r", str(requirements))
    _pip(folder, "install", "--no-deps", *(word for place in PACKAGES for word in ("-e", place)))


def _pip(folder: Path, *arguments: str) -> None:
    command = [python(folder), "-m", "pip", *arguments, "--disable-pip-version-check", "--no-input"]
    done = subprocess.run(
        command, cwd=ROOT, env=variables(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        lines = [
            line
            for line in done.stdout.splitlines()
            if not line.startswith(("Requirement already", "  Down"))
        ]
        raise SetupError(
            "pip could not install the packages. Its last lines:\n\n    "
            + "\n    ".join(lines[-15:])
            + "\n\nNothing of the repository was changed; run the same command again once that is put right."
        )


def node_modules() -> None:
    """Install the packages of package-lock.json into node_modules, unless they are there."""
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        raise SetupError(
            "The tests and the figures' scripts need Node 20 or newer; there is no `node` or `npm`.\n"
            "Install it from nodejs.org or your package manager. Reading and building the book needs none."
        )
    stamp = _stamp(ROOT / "node_modules", "package-lock.json")
    if stamp.exists():
        return
    print("Installing Node's packages", flush=True)
    done = subprocess.run(
        [npm, "ci", "--no-audit", "--no-fund"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise SetupError(
            "npm ci failed. Its last lines:\n\n    " + "\n    ".join(done.stdout.splitlines()[-15:])
        )
    _write(stamp)


def browser() -> str:
    """Return the path of a Chromium; install one through the system or Playwright if there is none."""
    found = _find_browser()
    if found:
        return found
    print("Installing Chromium for the browser tests", flush=True)
    tried = []
    for command in _browser_installers():
        done = subprocess.run(
            command, env=variables(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        found = _find_browser()
        if found:
            return found
        tried.append(f"    {' '.join(command)}\n        " + "\n        ".join(done.stdout.splitlines()[-3:]))
    raise SetupError(
        "The browser tests need Chromium, and it could not be installed. Tried:\n\n"
        + "\n".join(tried)
        + "\n\nInstall Chromium or Chrome yourself, or set CHROMIUM to the path of one."
    )


def _find_browser() -> str | None:
    named = os.environ.get("CHROMIUM")
    if named:
        if not shutil.which(named):
            raise SetupError(f"CHROMIUM must be the path of a browser, got {named!r}")
        return named
    for name in (*BROWSERS, *MAC_BROWSERS):
        if shutil.which(name):
            return shutil.which(name)
    code = (
        "from playwright.sync_api import sync_playwright as s\n"
        "with s() as p: print(p.chromium.executable_path)"
    )
    done = subprocess.run(
        [python(), "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    path = done.stdout.strip()
    return path if path and Path(path).exists() else None


def _browser_installers() -> list[list[str]]:
    found = []
    if shutil.which("apt-get"):
        root = [] if os.geteuid() == 0 else ["sudo", "-n"]
        found += [
            [*root, "apt-get", "update", "-q"],
            [*root, "apt-get", "install", "-yq", "chromium-headless-shell"],
            [*root, "apt-get", "install", "-yq", "chromium"],
        ]
    if sys.platform == "darwin" and shutil.which("brew"):
        found.append(["brew", "install", "--cask", "chromium"])
    found.append([python(), "-m", "playwright", "install", "chromium"])
    return found


def _stamp(folder: Path, *sources: str) -> Path:
    content = b"".join((ROOT / name).read_bytes() for name in sources) + sys.version.split()[0].encode()
    content += str(ROOT).encode()  # the packages are installed from here, so a moved checkout needs them anew
    return folder / f".attnlab-{hashlib.sha256(content).hexdigest()[:12]}"


def _write(stamp: Path) -> None:
    for old in stamp.parent.glob(".attnlab-*"):
        old.unlink()
    stamp.touch()

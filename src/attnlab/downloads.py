"""Files that are in their place only when they are whole."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def written_whole(target: Path) -> Iterator[IO[bytes]]:
    """Write a file beside its place, and move it there in one step when the block ends well.

    An interruption, or an error in the block, leaves no half file, and an older one as it was.

    Args:
        target: where the file shall be, in a folder that is there.

    Yields:
        A file to write bytes to.

    Raises:
        OSError: the folder cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(Path(folder) / "saw.txt") as file:
    ...         _ = file.write(b"I saw a saw")
    ...     [path.name for path in Path(folder).iterdir()]
    ['saw.txt']
    """
    # A name of its own, and the rights of an ordinary file: mkstemp's is for its owner alone.
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(8)}.part")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

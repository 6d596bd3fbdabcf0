"""The book's own server: files of one folder, on this machine alone, compressed as any host would do it."""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.server
import io
from pathlib import Path

WORTH = (".html", ".css", ".js", ".json", ".svg", ".txt", ".ipynb")
"""Files that shrink; fonts and pictures are compressed already."""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Answers as Python's own server does, and compresses text for whoever accepts gzip."""

    protocol_version = "HTTP/1.1"

    def send_head(self) -> io.BufferedIOBase | None:
        """Send what stands before a file, and return the file."""
        path = Path(self.translate_path(self.path))
        if path.is_dir() and self.path.partition("?")[0].endswith("/"):
            path = path / "index.html"
        accepted = "gzip" in self.headers.get("Accept-Encoding", "")
        if not (accepted and path.suffix in WORTH and path.is_file()):
            return super().send_head()
        try:
            body = _pressed(path, path.stat().st_mtime_ns)
        except OSError:
            self.send_error(404, "File not found")
            return None
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Vary", "Accept-Encoding")
        self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        return io.BytesIO(body)


@functools.lru_cache(maxsize=512)
def _pressed(path: Path, changed: int) -> bytes:
    # `changed` makes a file that was written again another entry.
    return gzip.compress(path.read_bytes(), 6, mtime=0)


def server(folder: Path) -> http.server.ThreadingHTTPServer:
    """Return a server of a folder on port 8000, or on the next free one; nothing is served yet."""
    made = functools.partial(Handler, directory=str(folder))
    for port in range(8000, 8020):
        with contextlib.suppress(OSError):
            return http.server.ThreadingHTTPServer(("127.0.0.1", port), made)
    return http.server.ThreadingHTTPServer(("127.0.0.1", 0), made)

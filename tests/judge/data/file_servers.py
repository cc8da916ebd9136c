"""A local web server that can end connections early, and a local git repository."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


@dataclass
class FileServer:
    """A server of some files.

    Args:
        files: by path.
        cut_after: each answer ends after so many bytes of its body; None: never.
        ranges: whether it knows ranges.
        asked: the path and range of each request.
    """

    files: Mapping[str, bytes]
    cut_after: int | None = None
    ranges: bool = True
    address: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def serving(server: FileServer) -> Iterator[FileServer]:
    """Serves for a time, at `server.address`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            stated = self.headers.get("Range", "")
            server.asked.append((self.path, stated))
            content = server.files.get(self.path.lstrip("/"))
            if content is None:
                self.send_error(404)
                return
            start = int(stated.removeprefix("bytes=").rstrip("-")) if stated and server.ranges else 0
            if start >= len(content):
                self.send_error(416)
                return
            body = content[start:]
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: server.cut_after])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        server.address = f"http://127.0.0.1:{http.server_address[1]}"
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


def git(folder: Path, *arguments: str) -> str:
    """Standard output of a git command in `folder`."""
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *identity, "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(folder: Path, files: Mapping[str, bytes]) -> tuple[str, str]:
    """Address and commit of a new repository with `files`, which filters what it sends."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "config", "uploadpack.allowFilter", "true")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return f"file://{folder}", commit(folder)


def commit(folder: Path) -> str:
    """The hash of a new commit of all that is in the folder."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=files")
    return git(folder, "rev-parse", "HEAD")

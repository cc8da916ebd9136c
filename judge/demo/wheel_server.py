"""Offers wheels to the builds of images on this machine: so no image holds them, and a build needs no index."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote

PORT = 41879
"""Used if it is free: the address enters the key under which Docker keeps a layer."""


class WheelServer:
    """A web server for this machine alone, with a page for each set of wheels. It ends with the process."""

    def __init__(self) -> None:
        self._pages: dict[str, dict[str, Path]] = {}
        pages = self._pages

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                _, digest, name = [*unquote(self.path).split("/"), "", ""][:3]
                page = pages.get(digest, {})
                if name in page:
                    with page[name].open("rb") as file:
                        self._say(HTTPStatus.OK, page[name].stat().st_size)
                        with suppress(ConnectionError):
                            shutil.copyfileobj(file, self.wfile)
                    return
                links = "".join(f'<a href="{each}">{each}</a>\n' for each in page).encode()
                self._say(HTTPStatus.OK if page and not name else HTTPStatus.NOT_FOUND, len(links), "text/html")
                self.wfile.write(links)

            def _say(self, status: HTTPStatus, n_bytes: int, content: str = "application/octet-stream") -> None:
                self.send_response(status)
                self.send_header("Content-Type", content)
                self.send_header("Content-Length", str(n_bytes))
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
        except OSError:
            self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._server.serve_forever, name="wheels", daemon=True).start()

    def address(self, wheels: Sequence[Path]) -> str:
        """The address of a page of `wheels`, for pip's --find-links: always the same for the same names."""
        names = {path.name: path for path in wheels}
        digest = hashlib.sha256("\0".join(sorted(names)).encode()).hexdigest()[:16]
        self._pages[digest] = names
        return f"http://127.0.0.1:{self._server.server_port}/{digest}/"

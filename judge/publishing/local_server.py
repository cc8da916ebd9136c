"""A server of the site for browsers on this machine, which shows the site's own page for an address without a page."""

from __future__ import annotations

import http.server
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path

from judge.publishing.site_files import not_found_page

LOOPBACK = "127.0.0.1"


class SiteHandler(http.server.SimpleHTTPRequestHandler):
    """Answers with the files of a folder."""

    def handle(self) -> None:
        """Answers one browser, until it drops the connection."""
        with suppress(ConnectionError):
            super().handle()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answers that there is no such page with `404.html`, and other errors as the library does."""
        if code != HTTPStatus.NOT_FOUND:
            super().send_error(code, message, explain)
            return
        page = not_found_page()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page)


def site_server(folder: Path, port: int) -> http.server.ThreadingHTTPServer:
    """A server of the files in `folder`, for this machine alone; it does not answer yet.

    Args:
        port: 0 for any free port.

    Raises:
        OSError: the port cannot be used.
    """
    return http.server.ThreadingHTTPServer((LOOPBACK, port), partial(SiteHandler, directory=str(folder)))

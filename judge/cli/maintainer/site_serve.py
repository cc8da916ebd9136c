"""`judge site serve`: shows the leaderboard's pages to browsers on this machine."""

from __future__ import annotations

import functools
import http.server
from typing import Annotated

import typer

from judge.config import ConfigError, load_settings

LOOPBACK = "127.0.0.1"


def serve_command(port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any free port")] = 8000) -> None:
    """Serves the pages to browsers on this machine. Ctrl-C ends it."""
    folder = load_settings().site_dir
    if not (folder / "index.html").exists():
        raise ConfigError(f"there are no pages in {folder}: judge site build")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    try:
        server = http.server.ThreadingHTTPServer((LOOPBACK, port), handler)
    except OSError as error:
        raise ConfigError(f"port {port} cannot be used ({error.strerror}): give another one with --port") from None
    with server:
        print(f"http://{LOOPBACK}:{server.server_address[1]}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            raise typer.Exit(0) from None

"""`judge site serve`: shows the leaderboard's pages to browsers on this machine."""

from __future__ import annotations

import sys

import typer

from judge.cli.output import print_done
from judge.config import ConfigError, load_settings
from judge.publishing.local_server import LOOPBACK, site_server


def run_serve(port: int, as_json: bool) -> None:
    """Serves the pages to browsers on this machine. Ctrl-C ends it."""
    folder = load_settings().site_dir
    if not (folder / "index.html").exists():
        raise ConfigError(f"there are no pages in {folder}: judge site build")
    try:
        server = site_server(folder, port)
    except OSError as error:
        raise ConfigError(f"port {port} cannot be used ({error.strerror}): give another one with --port") from None
    with server:
        address = f"http://{LOOPBACK}:{server.server_address[1]}/"
        print_done(as_json, {"address": address, "folder": str(folder)}, f"{address} (Ctrl-C ends it)")
        sys.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            raise typer.Exit(0) from None

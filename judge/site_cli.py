"""`judge site build|serve`: the leaderboard's pages."""

from __future__ import annotations

import functools
import http.server
import sys
from pathlib import Path
from typing import Annotated

import typer

from judge.config import ConfigError, load_settings
from judge.evaluate import current_results
from judge.site import build_site
from submissions.store import open_store
from tasks.suite import load_suite

app = typer.Typer(no_args_is_help=True)

LOOPBACK = "127.0.0.1"
LEFT_OUT = 1


@app.command("build")
def build(
    suite: Annotated[str | None, typer.Option(help="name, or path of a TOML file")] = None,
    out: Annotated[Path | None, typer.Option(help="folder to write (default var/site)")] = None,
) -> None:
    """Writes the pages from what is in the store. Exit status 1 where a broken record had to be left out."""
    settings = load_settings()
    folder = out.absolute() if out else settings.site_dir
    chosen = load_suite(suite or settings.suite)
    problems: list[str] = []
    store = open_store(settings.store)
    build_site(store, chosen, folder, problems.append, current_results(settings, chosen))
    for problem in problems:
        print(f"left out: {problem}", file=sys.stderr)
    print(f"The leaderboard is {folder / 'index.html'}")
    raise typer.Exit(LEFT_OUT if problems else 0)


@app.command("serve")
def serve(port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one")] = 8000) -> None:
    """Shows the pages to browsers of this machine, until Ctrl-C."""
    folder = load_settings().site_dir
    if not (folder / "index.html").exists():
        raise ConfigError(f"there are no pages in {folder}: judge site build")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    try:
        server = http.server.ThreadingHTTPServer((LOOPBACK, port), handler)
    except OSError as error:
        raise ConfigError(f"port {port} cannot be had ({error.strerror}): give another with --port") from None
    with server:
        print(f"http://{LOOPBACK}:{server.server_address[1]}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            raise typer.Exit(0) from None

"""`judge site build|publish|serve`: the leaderboard's pages."""

from __future__ import annotations

import functools
import http.server
import sys
from pathlib import Path
from typing import Annotated

import typer

from judge.config import ConfigError, load_settings
from judge.evaluate import current_results
from judge.plan_cli import SuiteName
from judge.public import public_sets
from judge.publish import Proposal, propose, publish_site
from judge.signing import own_key, safe_key_file, trusted_keys
from judge.site import INDEX, build_site, difference
from sandbox.events import plain
from submissions.open_store import open_store
from submissions.records import utc_now
from tasks.suite import load_suite

app = typer.Typer(no_args_is_help=True)

LOOPBACK = "127.0.0.1"
LEFT_OUT = REFUSED = 1
MAX_LINE = 1000


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
    store = open_store(settings.store, settings.endpoint_url)
    public = public_sets(settings.data, (task.dataset for task in chosen.tasks), utc_now().date())
    build_site(store, chosen, folder, problems.append, current_results(settings, chosen), public)
    for problem in problems:
        print(f"left out: {problem}", file=sys.stderr)
    print(f"The leaderboard is {folder / 'index.html'}")
    raise typer.Exit(LEFT_OUT if problems else 0)


@app.command("publish")
def publish(
    suite: SuiteName = None,
    to: Annotated[Path | None, typer.Option(help="folder to publish in (default var/public)")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what would be published, and write nothing")] = False,
) -> None:
    """Publishes the pages with a signed manifest, if every result shown is signed and its sandbox proven.

    Exit status 1, and nothing is written, if any is not.
    """
    settings = load_settings()
    folder = to.absolute() if to else Path(settings.publish_to)
    chosen, now = load_suite(suite or settings.suite), utc_now()
    proposal = propose(settings, chosen, trusted_keys(settings), now)
    for problem in proposal.problems:
        print(f"left out: {problem}", file=sys.stderr)
    for line in proposal.refusals:
        print(f"NOT  {plain(line, MAX_LINE)}", file=sys.stderr)
    if dry_run:
        for line in _proposed(proposal, folder):
            print(line)
    if proposal.refusals:
        print(f"Nothing was published. Reasons against it, above: {len(proposal.refusals)}", file=sys.stderr)
        raise typer.Exit(REFUSED)
    if not dry_run:
        key = own_key(safe_key_file(settings), print)
        stored = publish_site(open_store(settings.store, settings.endpoint_url), proposal, folder, key, now)
        print(f"Published, manifest {stored.manifest.n}: {folder / INDEX}")


def _proposed(proposal: Proposal, folder: Path) -> list[str]:
    """What would be published, for a person."""
    files = difference(folder, proposal.files)
    lines = [f"{word}: {name}" for word in ("new", "changed") for name in files[word]]
    counts = ", ".join(f"{len(names)} {word}" for word, names in files.items())
    rows = f"{len(proposal.board.rows)} submissions with {len(proposal.results)} results"
    return [*lines, f"To be published in {folder}: {rows}; {len(proposal.files)} files ({counts})."]


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

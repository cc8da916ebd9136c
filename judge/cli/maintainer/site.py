"""`judge site build|publish|serve`: the leaderboard's pages."""

from __future__ import annotations

import functools
import http.server
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from judge.cli.options import SuiteName
from judge.config import ConfigError, load_settings
from judge.intake.status import write_statuses
from judge.publishing.build_cache import build_key, forget, problems_of_same, remember
from judge.publishing.destination import SitePlace, open_site, published_to
from judge.publishing.folder import INDEX
from judge.publishing.publish import Proposal, propose, publish_site
from judge.publishing.readable_results import readable_results
from judge.publishing.site_files import build_site
from judge.publishing.site_sources import known_sources
from judge.ranking.references import unknown_references
from judge.records.manifest import read_chain
from judge.workspace import Workspace, open_workspace
from sandbox.events import plain
from submissions.records import utc_now
from tasks.suites.suite import Suite, load_suite

app = typer.Typer(no_args_is_help=True)

LOOPBACK = "127.0.0.1"
LEFT_OUT = REFUSED = 1
MAX_LINE = 1000


@app.command("build")
def build(
    suite: Annotated[str | None, typer.Option(help="name, or path of a TOML file")] = None,
    out: Annotated[Path | None, typer.Option(help="folder to write (default var/site)")] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="exit status 0 even if a broken record was left out")
    ] = False,
    anew: Annotated[bool, typer.Option("--anew", help="write every page, even if nothing changed")] = False,
) -> None:
    """Writes the pages from the store. Exit status 1 if a broken record was left out."""
    workspace = open_workspace()
    settings = workspace.settings
    folder = out.absolute() if out else settings.site_dir
    chosen = load_suite(suite or settings.suite)
    key = build_key(workspace, chosen)
    problems = None if anew else problems_of_same(settings, folder, key)
    if problems is None:
        forget(settings, folder)
        problems = tuple(_build(workspace, chosen, folder))
        if build_key(workspace, chosen) == key:
            remember(settings, folder, key, problems)
    for problem in problems:
        print(f"left out: {plain(problem, MAX_LINE)}", file=sys.stderr)
    _warn_of_references(workspace)
    print(f"The leaderboard is {folder / 'index.html'}")
    raise typer.Exit(LEFT_OUT if problems and not keep_going else 0)


def _build(workspace: Workspace, suite: Suite, folder: Path) -> list[str]:
    """Writes all pages into `folder`; a line for each record that was left out."""
    settings, store, trusted = workspace.settings, workspace.store, workspace.trusted
    chain = read_chain(store, trusted)
    problems = [str(defect) for defect in chain.defects]
    sources = known_sources(settings, suite, (task.dataset for task in suite.tasks), chain)
    current = readable_results(workspace, suite)
    build_site(store, suite, folder, problems.append, current, sources, settings.references, trusted)
    return problems


def _warn_of_references(workspace: Workspace) -> None:
    """Warns of `references` that name no submission: the submission that was meant would get a rank."""
    for name in unknown_references(workspace.store, workspace.settings.references):
        print(f"warning: references: no submission is called {plain(name)!r}: see judge list", file=sys.stderr)


@app.command("publish")
def publish(
    suite: SuiteName = None,
    to: Annotated[str | None, typer.Option(help="folder or s3://BUCKET/PREFIX (default var/public)")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="print what would be published, and write nothing")
    ] = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="upload all published files again, even if the bucket seems to have them")
    ] = False,
) -> None:
    """Publishes the pages with a signed manifest. Every result must be signed, and its sandbox proven by a selftest.

    Exit status 1, and nothing is written, if one is not.
    """
    settings = published_to(load_settings(), to)
    workspace = Workspace(settings)
    place = open_site(settings)
    chosen, now = load_suite(suite or settings.suite), utc_now()
    proposal = propose(workspace, chosen, now)
    for problem in proposal.problems:
        print(f"left out: {problem}", file=sys.stderr)
    for line in proposal.refusals:
        print(f"NOT  {plain(line, MAX_LINE)}", file=sys.stderr)
    _warn_of_references(workspace)
    rewritten = proposal.published if anew else frozenset[str]()
    if dry_run:
        for line in _proposed(proposal, place, rewritten):
            print(line)
    if proposal.refusals:
        print(f"Nothing was published. Number of reasons, above: {len(proposal.refusals)}", file=sys.stderr)
        raise typer.Exit(REFUSED)
    if not dry_run:
        key = workspace.signing_key(print)
        stored = publish_site(workspace.store, proposal, place, key, now, rewritten)
        print(f"Published, manifest {stored.manifest.n}: {place.path(INDEX)}")
        write_statuses(workspace, chosen)


def _proposed(proposal: Proposal, place: SitePlace, rewritten: Collection[str]) -> list[str]:
    """What would be published, for a person."""
    files = place.difference(proposal.files, rewritten)
    lines = [f"{word}: {plain(name)}" for word in ("new", "changed", "removed") for name in files.get(word, ())]
    counts = ", ".join(f"{len(names)} {word}" for word, names in files.items())
    rows = f"{len(proposal.board.rows)} submissions with {len(proposal.results)} results"
    return [*lines, f"To be published in {place.path()}: {rows}; {len(proposal.files)} files ({counts})."]


@app.command("serve")
def serve(port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any free port")] = 8000) -> None:
    """Serves the pages to browsers on this machine, until Ctrl-C."""
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

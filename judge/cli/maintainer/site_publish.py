"""`judge site publish`: publishes the leaderboard's pages with a signed manifest."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Annotated

import typer

from judge.cli.maintainer.site import warn_of_references
from judge.cli.options import SuiteName
from judge.config import load_settings
from judge.intake.status import write_statuses
from judge.publishing.destination import SitePlace, open_site, published_to
from judge.publishing.folder import INDEX
from judge.publishing.publish import Proposal, propose, publish_site
from judge.workspace import Workspace
from sandbox.events import plain
from submissions.records import utc_now
from tasks.suites.suite import load_suite

REFUSED = 1
MAX_LINE = 1000


def publish_command(
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
    warn_of_references(workspace)
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

"""`judge site publish`: publishes the leaderboard's pages with a signed manifest."""

from __future__ import annotations

import sys
from collections.abc import Collection

import typer

from judge.cli.maintainer.site import warn_of_references
from judge.cli.output import lines_aside, print_json
from judge.config import UsageError
from judge.intake.status import write_statuses
from judge.publishing.destination import SitePlace, open_site, published_to
from judge.publishing.folder import INDEX
from judge.publishing.publish import Proposal, propose, publish_site
from judge.records.suite_record import load_unchanged
from judge.workspace import Workspace, open_workspace
from sandbox.events import plain
from submissions.records import utc_now

REFUSED = 1
MAX_LINE = 1000


def run_publish(suite: str | None, to: str | None, dry_run: bool, anew: bool, files: bool, as_json: bool) -> None:
    """Publishes the pages with a signed manifest. Every result must be signed, and its sandbox proven by a selftest."""
    if files and not dry_run:
        raise UsageError("--files goes with --dry-run: judge site publish --dry-run --files")
    settings = published_to(open_workspace().settings, to)
    workspace = Workspace(settings)
    place = open_site(settings)
    chosen, now = load_unchanged(workspace.store, suite or settings.suite), utc_now()
    proposal = propose(workspace, chosen, now)
    for problem in proposal.problems:
        print(f"left out: {problem}", file=sys.stderr)
    warn_of_references(workspace)
    rewritten = proposal.published if anew else frozenset[str]()
    facts = _facts(proposal, place, rewritten) if as_json else {}
    if dry_run and not as_json:
        for line in _proposed(proposal, place, rewritten, files):
            print(line, flush=True)
    if proposal.refusals:
        print(f"Nothing was published. Number of reasons, below: {len(proposal.refusals)}", file=sys.stderr)
        for line in proposal.refusals:
            print(f"NOT  {plain(line, MAX_LINE)}", file=sys.stderr)
    elif not dry_run:
        with lines_aside(as_json):
            key = workspace.signing_key(print)
            stored = publish_site(workspace.store, proposal, place, key, now, rewritten)
            print(f"Published, manifest {stored.manifest.n}: {place.path(INDEX)}")
        write_statuses(workspace, chosen)
        facts["manifest"] = stored.manifest.n
    if as_json:
        print_json(facts)
    raise typer.Exit(REFUSED if proposal.refusals else 0)


def _facts(proposal: Proposal, place: SitePlace, rewritten: Collection[str]) -> dict[str, object]:
    """The place, the files by what would become of them, the reasons against it; no manifest."""
    files = {word: sorted(names) for word, names in place.difference(proposal.files, rewritten).items()}
    return {"place": place.path(), "files": files, "refusals": list(proposal.refusals), "manifest": None}


def _proposed(proposal: Proposal, place: SitePlace, rewritten: Collection[str], named: bool) -> list[str]:
    """What would be published, for a person; if `named`, with the name of each file that is not the same."""
    files = place.difference(proposal.files, rewritten)
    lines = [f"{word}: {plain(name)}" for word in ("new", "changed", "removed") for name in files.get(word, ())]
    lines = lines if named else []
    counts = ", ".join(f"{len(names)} {word}" for word, names in files.items())
    more = "" if named else " With --files each is named."
    rows = f"{len(proposal.board.rows)} submissions with {len(proposal.results)} results"
    return [*lines, f"To be published in {place.path()}: {rows}; {len(proposal.files)} files ({counts}).{more}"]

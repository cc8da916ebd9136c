"""`judge site build`: the leaderboard's pages; and its neighbours `publish` and `serve`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from judge.cli.output import print_done
from judge.gc_pause import long_lived
from judge.parallel import in_background
from judge.publishing.build_cache import (
    build_key,
    earlier_pages,
    forget,
    interval_cache,
    problems_of_same,
    remember,
)
from judge.publishing.readable_results import ReadableResults
from judge.publishing.site_files import build_site
from judge.publishing.site_sources import known_sources
from judge.ranking.references import unknown_references
from judge.records.manifest import read_chain
from judge.records.store_snapshot import StoreSnapshot, list_records
from judge.records.suite_record import load_unchanged
from judge.view.earlier_pages import EarlierPages
from judge.view.jinja import compiled_templates
from judge.workspace import Workspace
from sandbox.events import plain
from submissions.store.interface import Stamped
from tasks.suites.suite import Suite

LEFT_OUT = 1
MAX_LINE = 1000


def run_build(
    workspace: Workspace,
    records: Sequence[Stamped],
    suite: str | None,
    out: Path | None,
    keep_going: bool,
    anew: bool,
    as_json: bool,
) -> None:
    """Writes the pages from the store. Exit status 1 if a broken record was left out.

    Args:
        records: all of the store.
    """
    folder = out.absolute() if out else workspace.settings.site_dir
    problems = write_pages(workspace, suite or workspace.settings.suite, folder, anew, records)
    for problem in problems:
        print(f"left out: {plain(problem, MAX_LINE)}", file=sys.stderr)
    warn_of_references(workspace)
    index = str(folder / "index.html")
    print_done(as_json, {"index": index, "left_out": list(problems)}, f"The leaderboard is {index}")
    raise typer.Exit(LEFT_OUT if problems and not keep_going else 0)


def write_pages(
    workspace: Workspace,
    suite: str,
    folder: Path,
    anew: bool = False,
    records: Sequence[Stamped] | None = None,
) -> tuple[str, ...]:
    """Writes the pages into `folder`, if anything has changed; a line for each record that was left out.

    Args:
        suite: name or path.
        anew: write every page, even if nothing changed.
        records: all of the store; None: they are listed.
    """
    settings = workspace.settings
    chosen = load_unchanged(workspace.store, suite)
    records = list_records(workspace.store) if records is None else records
    key = build_key(workspace, chosen, records)
    if anew:
        interval_cache(settings, folder).remove()
    problems = None if anew else problems_of_same(settings, folder, key.all)
    if problems is None:
        earlier = EarlierPages() if anew else earlier_pages(settings, folder, key.surroundings)
        forget(settings, folder)
        with long_lived():
            snapshot = StoreSnapshot(workspace.store, listed=records)
            problems = tuple(_build(workspace.with_store(snapshot), chosen, folder, earlier))
        remember(settings, folder, key, problems, earlier.drawn)
    return problems


def _build(workspace: Workspace, suite: Suite, folder: Path, earlier: EarlierPages) -> list[str]:
    """Writes all pages into `folder`; a line for each record that was left out."""
    settings, store, trusted = workspace.settings, workspace.store, workspace.trusted
    chain = read_chain(store, trusted)
    problems = [str(defect) for defect in chain.defects]
    sources = known_sources(settings, suite, (task.dataset for task in suite.tasks), chain)
    current = ReadableResults(workspace, suite)
    cache = interval_cache(settings, folder)
    with in_background(compiled_templates) as templates:
        sources = replace(sources, templates=templates)
        build_site(
            store, suite, folder, problems.append, current, sources, settings.references, trusted, cache, earlier
        )
    return problems


def warn_of_references(workspace: Workspace) -> None:
    """Warns of `references` that name no submission: the submission that was meant would get a rank."""
    for name in unknown_references(workspace.store, workspace.settings.references):
        print(f"warning: references: no submission is called {plain(name)!r}: see judge list", file=sys.stderr)

"""`judge gc`: lists or removes files and images that nothing refers to any more."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from rich.filesize import decimal
from rich.markup import escape

from judge.cli.output import print_json, print_lines
from judge.config import JudgeSettings, Retention, UsageError
from judge.records.hardware import hardware_class
from judge.records.removals import record_removal
from judge.records.results import read_submissions
from judge.upkeep.gc import (
    Garbage,
    StoreAttempts,
    copied_checkpoints,
    dead_writers_files,
    items_without_result,
    read_attempts,
    unreferred_observations,
)
from judge.upkeep.gc_machine import checkpoints, dead_sessions, selftest_images, unreferred_images
from judge.upkeep.retention import DAY_S, as_garbage
from judge.upkeep.usage import read_usage
from judge.workspace import Workspace, open_workspace
from sandbox.events import Event, emit
from sandbox.verdict import JudgeFault
from submissions.store.interface import Store
from submissions.tables import plain_table, table_console


def run_gc(dry_run: bool, days: float, images: bool, as_json: bool) -> None:
    """Removes what nothing refers to: observations, items tables, files of dead judges, old images of the selftest."""
    if not days >= 0:
        raise UsageError(f"--days must be 0 or more, not {days:g}")
    workspace = open_workspace()
    if images and not any(True for _ in workspace.store.list("submissions/")):
        raise UsageError(
            f"--images: there are no submissions in {workspace.settings.store}, so that every image would be removed: "
            "set store to that of this host"
        )
    garbage, lines = find_garbage(workspace, time.time() - days * DAY_S, images)
    if not dry_run:
        _record_removal(workspace, garbage)
    kept = [] if dry_run else [each for each in garbage if not _collect(each)]
    lines += [f"{each.kind} {each.name} is in use now: kept" for each in kept]
    gone = [each for each in garbage if each not in kept]
    if as_json:
        fields = ("kind", "name", "size_bytes", "by_policy")
        removed = [{field: getattr(each, field) for field in fields} for each in gone]
        print_json({"dry_run": dry_run, "garbage": removed, "notes": lines}, indent=None)
    else:
        _show(gone, lines, dry_run)


def find_garbage(workspace: Workspace, oldest: float, images: bool = False) -> tuple[list[Garbage], list[str]]:
    """All that can be removed, and a line for each place that was not checked.

    Args:
        oldest: seconds since the epoch.
        images: also images of calculators. Only if no other store uses this machine's engine.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    store, settings = workspace.store, workspace.settings
    observations, attempts = unreferred_observations(store)
    lines = [
        f"No observation is removed while {prefix} is claimed on {host}: judge evaluate ends it or takes it over"
        for prefix, host in attempts.living.items()
    ]
    garbage = [*observations, *_expired(workspace), *dead_writers_files(store, oldest), *items_without_result(store)]
    garbage += copied_checkpoints(store, attempts)
    garbage += checkpoints(settings.run_dir, attempts, _hardware(settings, attempts), oldest)
    garbage += dead_sessions(settings.run_dir)
    if settings.driver != "docker":
        return garbage, [*lines, "Images were not checked: submissions are run without a container here"]
    try:
        image_days = settings.retention.images
        garbage += selftest_images(oldest if image_days is None else time.time() - image_days * DAY_S)
        if images:
            garbage += unreferred_images(lambda: _only_here(store))
    except JudgeFault as fault:
        lines.append(f"Images were not checked: {fault.remedy}")
    return garbage, lines


def _expired(workspace: Workspace) -> list[Garbage]:
    """What the retention policy removes; nothing while the judge of an open attempt may be alive."""
    policy, store = workspace.settings.retention, workspace.store
    if policy == Retention():
        return []
    attempts = read_attempts(store)  # before the listing: it has all that they named, and none is alive
    return [] if attempts.living else as_garbage(store, read_usage(workspace).expired, attempts)


def _record_removal(workspace: Workspace, garbage: Sequence[Garbage]) -> None:
    """Stores what the retention policy removes, before anything is removed."""
    store = workspace.store
    keys = [each.name for each in garbage if each.by_policy and not each.name.startswith("/")]
    if keys:
        key = workspace.signing_key(lambda line: print(line, file=sys.stderr))
        record_removal(store, key, keys, workspace.settings.retention.model_dump())


def _only_here(store: Store) -> list[str]:
    """IDs of the submissions' images that are not in the judge's registry."""
    return [submission.image.id for submission in read_submissions(store) if not submission.image.mirror]


def _hardware(settings: JudgeSettings, attempts: StoreAttempts) -> set[str]:
    """The hardware classes of all machines with an attempt, and of this machine."""
    ends = [attempt.end for history in attempts.histories.values() for attempt in history.attempts if attempt.end]
    return {end.origin.hardware for end in ends} | {hardware_class(settings.limits.cpus, None)}


def _collect(garbage: Garbage) -> bool:
    removed = garbage.remove()
    if removed:
        emit(Event.COLLECTED, key=garbage.name, sentence=str(garbage.kind), count=garbage.size_bytes)
    return removed


def _show(gone: list[Garbage], lines: list[str], dry_run: bool) -> None:
    console = table_console()
    if gone:
        table = plain_table("kind", "what", "", "size", numbers=("size",))
        for each in gone:
            why = "by retention" if each.by_policy else ""
            table.add_row(each.kind, escape(each.name), why, decimal(each.size_bytes))
        console.print(table)
    print_lines(console, lines)
    total = decimal(sum(each.size_bytes for each in gone))
    if not gone:
        console.print("There is nothing to remove.")
    elif dry_run:
        console.print(f"Would remove {len(gone)}, {total} in all. To do it: the same without --dry-run")
    else:
        console.print(f"Removed {len(gone)}, {total} in all.")

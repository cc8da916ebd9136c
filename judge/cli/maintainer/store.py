"""`judge store`: compares stores by one hash, and shows what a store holds."""

from __future__ import annotations

import time

from rich.filesize import decimal

from judge.audit.store_digest import digest_lines, digest_of
from judge.cli.output import print_json, print_lines
from judge.config import DEFAULT_DAYS, Retention
from judge.upkeep.gc_machine import EngineImages, engine_images
from judge.upkeep.retention import DAY_S, Sort
from judge.upkeep.usage import Usage, read_usage
from judge.workspace import open_workspace
from sandbox.verdict import JudgeFault
from submissions.tables import plain_table, table_console


def run_digest(lines: bool, as_json: bool) -> None:
    """Prints one hash of all results that count. Kills and retries on the way to them do not change it."""
    result_lines = digest_lines(open_workspace().store)
    if as_json:
        summary = {"digest": digest_of(result_lines), "results": len(result_lines)}
        print_json({**summary, "lines": result_lines} if lines else summary)
        return
    for line in result_lines if lines else ():
        print(line)
    print(f"{digest_of(result_lines)}  {len(result_lines)} results")


def run_usage(as_json: bool) -> None:
    """Prints number, bytes and age of each sort of file, and what `judge gc` removes by the retention policy."""
    workspace = open_workspace()
    found, now = read_usage(workspace), time.time()
    images, note = None, "Images were not counted: submissions are run without a container here"
    if workspace.settings.driver == "docker":
        try:
            days = found.policy.images
            images, note = engine_images(now - (DEFAULT_DAYS if days is None else days) * DAY_S), ""
        except JudgeFault as fault:
            note = f"Images were not counted: {fault.remedy}"
    if as_json:
        print_json(
            {
                "retention": found.policy.model_dump(),
                "sorts": [each.model_dump(mode="json") for each in found.by_sort],
                "images": images._asdict() if images else None,
            }
        )
        return
    _show(found, images, now)
    print_lines(table_console(), [line for line in (note, *_notes(found)) if line])


def _show(found: Usage, images: EngineImages | None, now: float) -> None:
    table = plain_table(
        "sort", "files", "size", "oldest", "kept", "gc removes", numbers=("files", "size", "oldest", "gc removes")
    )
    for each in found.by_sort:
        age = "–" if each.oldest is None else _days((now - each.oldest) / DAY_S)
        removed = _removed(each.expired_files, each.expired_bytes)
        table.add_row(each.sort, str(each.files), decimal(each.size_bytes), age, _kept(each.days), removed)
    if images:
        age = "–" if images.oldest is None else _days((now - images.oldest) / DAY_S)
        kept = _kept(DEFAULT_DAYS if found.policy.images is None else found.policy.images)
        removed = _removed(images.expired_images, images.expired_bytes)
        table.add_row(Sort.IMAGES, str(images.images), decimal(images.size_bytes), age, kept, removed)
    total = sum(each.size_bytes for each in found.by_sort)
    console = table_console()
    console.print(table)
    console.print(f"{sum(each.files for each in found.by_sort)} files, {decimal(total)} in all.")


def _days(days: float) -> str:
    return f"{days:.0f} days" if days >= 2 else f"{days * 24:.0f} h"


def _removed(files: int, size_bytes: int) -> str:
    return f"{files}, {decimal(size_bytes)}" if files else "–"


def _kept(days: float | None) -> str:
    return "for ever" if days is None else f"{days:g} days"


def _notes(found: Usage) -> list[str]:
    if found.policy == Retention():
        return ["No retention policy is set: see the table [retention] in docs/operating.md"]
    if found.policy.also_needed:
        return ["also_needed is set: judge verify cannot measure the results again whose observations are removed"]
    return ["Observations that a result that counts or a published page rests on are kept, however old they are."]

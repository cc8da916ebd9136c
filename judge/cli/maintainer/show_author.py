"""`judge show ID --author`: what the author of a submission may see, as text to be sent."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import Console
from rich.markup import escape

from judge.disclosure.author_view import AuthorView, author_view
from judge.disclosure.redaction import public_sets
from judge.records.results import load_results
from judge.view import formatting
from judge.workspace import Workspace
from sandbox.events import plain
from submissions.preflight.log import read_log
from submissions.records import Submission
from submissions.tables import plain_table, table_console


def show_to_author(workspace: Workspace, submission: Submission, task: str | None, as_json: bool) -> None:
    """Prints what the author of `submission` may see, of one task where `task` names it."""
    store = workspace.store
    results = [r for r in load_results(store, [submission.id], of_all_suites=True) if task in (None, r.task)]
    today = datetime.now(UTC).date()
    public = public_sets(workspace.data, [result.provenance.dataset for result in results], today)
    view = author_view(submission, results, read_log(store, submission.id), public)
    if as_json:
        print(view.model_dump_json(indent=1))
    else:
        _print(view, table_console())


def _print(view: AuthorView, console: Console) -> None:
    console.print(f"[bold]{escape(plain(view.name))}[/]  {view.submission}")
    numbers = ("wall time", "start-up", "peak memory")
    table = plain_table("task", "verdict", "phase", *numbers, numbers=numbers)
    for of in view.tasks:
        peaks = of.peaks
        used = (
            ("", "", "")
            if peaks is None
            else (
                formatting.duration(peaks.wall_s),
                formatting.duration(peaks.startup_s),
                formatting.size(peaks.memory_bytes),
            )
        )
        table.add_row(of.task, str(of.verdict), of.phase, *used)
    console.print(table if view.tasks else "Not judged yet.")
    for of in view.tasks:
        if of.sentence:
            console.print(escape(f"{of.task}: {of.sentence}"), soft_wrap=True)
    for why in dict.fromkeys(of.log_withheld for of in view.tasks):
        names = ", ".join(of.task for of in view.tasks if of.log_withheld == why)
        console.print(escape(f"{names}: {why}"), soft_wrap=True)
    if view.log:
        console.print("\nWhat the container said in the preflight:")
        for line in view.log.splitlines():
            console.print(f"  │ {line}", markup=False, soft_wrap=True)

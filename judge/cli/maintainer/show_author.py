"""`judge show ID --author`: what the author of a submission may see, as `lambench-submit status` shows it."""

from __future__ import annotations

from rich.markup import escape

from judge.cli.output import print_json
from judge.disclosure.author_view import LOG_WITHHELD
from judge.intake.status import read_progress
from judge.workspace import Workspace
from sandbox.events import plain
from submissions.cli.status_tables import progress_lines
from submissions.preflight.log import read_log
from submissions.records import Submission
from submissions.tables import table_console
from tasks.suites.suite import load_suite


def show_to_author(workspace: Workspace, submission: Submission, task: str | None, as_json: bool) -> None:
    """Prints what the author of `submission` may see, of one task if `task` names it."""
    suite = load_suite(workspace.settings.suite)
    progress = read_progress(workspace, suite, [submission.id])[submission.id]
    if task:
        shown = tuple(state for state in progress.tasks if state.task == task)
        progress = progress.model_copy(update={"tasks": shown, "n_tasks": len(shown)})
    log = read_log(workspace.store, submission.id)
    if as_json:
        print_json({**progress.model_dump(mode="json"), "log": log, "log_withheld": LOG_WITHHELD})
        return
    console = table_console()
    console.print(f"[bold]{escape(plain(progress.name))}[/]  {progress.submission}: {progress.state}")
    for line in progress_lines(progress):
        console.print(line, soft_wrap=True)
    console.print(LOG_WITHHELD, soft_wrap=True)
    if log:
        console.print("\nWhat the container printed in the preflight:")
        for line in log.splitlines():
            console.print(f"  │ {line}", markup=False, soft_wrap=True)

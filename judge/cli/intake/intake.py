"""`judge intake`: decides submission requests, and writes the authors' status. `evaluate --all` begins with it."""

from __future__ import annotations

from collections.abc import Callable

import typer
from rich.console import Console
from rich.markup import escape

from judge.cli.options import asked_gpus
from judge.cli.output import print_json, print_lines
from judge.config import ConfigError, UsageError
from judge.evaluation.request import Request, choose_tasks
from judge.intake.intake import intake
from judge.intake.status import write_statuses
from judge.intake.summary import IntakeDecision, IntakeSummary
from judge.records.suite_record import load_unchanged
from judge.workspace import Workspace, open_workspace
from sandbox.drivers.gpu import require_gpus
from sandbox.events import plain
from sandbox.verdict import JudgeFault
from submissions.progress import Reporter
from submissions.tables import plain_table, table_console
from tasks.suites.suite import load_suite

MAX_LINE = 500
_OUTCOMES = {
    "submitted": "submitted",
    "duplicate": "duplicate (the image was submitted before)",
    "refused": "refused",
    "delayed": "delayed by a fault of this machine",
}


def run_intake(gpus: str, as_json: bool) -> None:
    """Examines authors' submission requests, and writes each author's status and upload forms."""
    with Reporter(Console(stderr=as_json), "intake") as reporter:
        summary = intake(open_workspace(), reporter, asked_gpus(gpus))
    if as_json:
        print_json({**summary.model_dump(mode="json"), "exit_status": summary.exit_status})
    else:
        _show(summary)
    raise typer.Exit(summary.exit_status)


def intake_before_judging(workspace: Workspace, request: Request, reporter: Reporter) -> IntakeSummary | None:
    """The intake before judging; None if there is no upload bucket. A line says what prevented it: judging goes on.

    Args:
        request: for the judging. It is checked first, so that a typing error is reported now and not hours later.

    Raises:
        UsageError: it names an unknown task, or a suite that was changed and has the same version.
        SuiteError: it names no suite.
        JudgeFault: it names a GPU that is not in this machine.
    """
    settings = workspace.settings
    if not settings.upload_bucket:
        return None
    choose_tasks(load_unchanged(workspace.store, request.suite or settings.suite), request.tasks)
    require_gpus(list(request.gpus))
    try:
        with reporter:
            summary = intake(workspace, reporter, request.gpus)
    except (JudgeFault, ConfigError, UsageError) as error:
        fault = f"{error.cause}: {error.remedy}" if isinstance(error, JudgeFault) else str(error)
        reporter.say(f"! The upload bucket was not read: {plain(fault, MAX_LINE)}")
        reporter.say("  Judging goes on without it.")
        return IntakeSummary(fault=plain(fault, MAX_LINE), status_written=False)
    for line in summary_lines(summary):
        reporter.say(line)
    return summary


def write_statuses_of_suite(workspace: Workspace, suite: str | None, say: Callable[[str], None]) -> None:
    """Writes the authors' status, if there is a status bucket. `say` gets a line with what prevented it.

    Args:
        suite: name or path; None for that of the settings.
    """
    if workspace.settings.status_bucket:
        write_statuses(workspace, load_suite(suite or workspace.settings.suite), say)


def summary_lines(summary: IntakeSummary) -> list[str]:
    """The result of an intake, for a person. All of it is printable, though strangers wrote some of it."""
    if summary.elsewhere:
        return ["Another intake of this host is running: nothing was done here."]
    lines = [decision_line(decision) for decision in summary.decisions]
    if summary.counts["delayed"]:
        lines.append("  If a request itself is at fault, end it with: judge refuse INVITATION REQUEST --reason WHY")
    counts = [f"{summary.counts[outcome]} {words}" for outcome, words in _OUTCOMES.items() if summary.counts[outcome]]
    where = f"of {summary.invitations} invitations"
    lines.append(f"Submission requests {where}: {', '.join(counts)}." if counts else f"No new requests {where}.")
    return lines + [f"! {note}" for note in summary.notes]


def decision_line(decision: IntakeDecision) -> str:
    """One decision, in a line."""
    name = plain(decision.name, 60) or decision.slot[:8]
    match decision.outcome:
        case "submitted":
            return f"+ {decision.invitation}: {name} is submitted as {decision.submission}"
        case "duplicate":
            return f"= {decision.invitation}: {name}: {plain(decision.sentence, MAX_LINE)}"
        case "refused":
            return f"- {decision.invitation}: {name}: {decision.verdict}: {plain(decision.sentence, MAX_LINE)}"
        case "delayed":
            request = f"{name}, request {decision.slot[:8]}," if decision.name else decision.slot[:8]
            return f"! {decision.invitation}: {request} is delayed: {plain(decision.sentence, MAX_LINE)}"


def _show(summary: IntakeSummary) -> None:
    console = table_console()
    if summary.decisions:
        table = plain_table("invitation", "request", "name", "outcome", "submission")
        for decision in summary.decisions:
            outcome = f"{decision.outcome} ({decision.verdict})" if decision.verdict else decision.outcome
            name = escape(plain(decision.name, 60))
            table.add_row(decision.invitation, decision.slot[:8], name, outcome, decision.submission)
        console.print(table)
    print_lines(console, summary_lines(summary))
    if summary.counts["submitted"]:
        console.print("Next: judge evaluate --all")

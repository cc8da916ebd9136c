"""`judge intake`: takes what authors sent, and tells them what came of it; also the first step of `evaluate --all`."""

from __future__ import annotations

import json
from collections.abc import Callable

import typer
from rich.console import Console
from rich.markup import escape

from judge.cli.options import Gpus, Json, asked_gpus
from judge.config import ConfigError, UsageError
from judge.evaluation.request import Request, choose_tasks
from judge.intake.intake import intake
from judge.intake.status import write_mail
from judge.intake.summary import Came, IntakeSummary
from judge.workspace import Workspace, open_workspace
from sandbox.drivers.gpu import require_gpus
from sandbox.events import plain
from sandbox.verdict import JudgeFault
from submissions.progress import Reporter
from submissions.tables import plain_table, table_console
from tasks.suites.suite import load_suite

MAX_LINE = 500
_WORDS = {
    "submitted": "submitted",
    "duplicate": "of an image that was submitted before",
    "refused": "refused",
    "delayed": "kept back by this machine",
}


def intake_command(gpus: Gpus = "", as_json: Json = False) -> None:
    """Looks at what authors sent: verifies it, submits it, and tells them. Run it often: it also renews their forms.

    Exit status 1 where this machine kept a letter from being looked at, or an author from being told.
    """
    with Reporter(Console(stderr=as_json), "intake") as reporter:
        summary = intake(open_workspace(), reporter, asked_gpus(gpus))
    if as_json:
        print(json.dumps({**summary.model_dump(mode="json"), "exit_status": summary.exit_status}, indent=1))
    else:
        _show(summary)
    raise typer.Exit(summary.exit_status)


def intake_before_judging(workspace: Workspace, request: Request, reporter: Reporter) -> IntakeSummary | None:
    """Takes what came; None where there is no inbox. Whatever hinders it is said in a line: judging goes on without.

    Args:
        request: for the judging, which is looked at first: whoever mistyped it is told now, and not hours later.

    Raises:
        UsageError: it names a task that there is not.
        SuiteError: it names no suite.
        JudgeFault: it names a GPU that is not in this machine.
    """
    settings = workspace.settings
    if not settings.inbox:
        return None
    choose_tasks(load_suite(request.suite or settings.suite), request.tasks)
    require_gpus(list(request.gpus))
    try:
        with reporter:
            summary = intake(workspace, reporter, request.gpus)
    except (JudgeFault, ConfigError, UsageError) as error:
        fault = f"{error.cause}: {error.remedy}" if isinstance(error, JudgeFault) else str(error)
        reporter.say(f"! The inbox was not looked at: {plain(fault, MAX_LINE)}")
        reporter.say("  Judging goes on with what is here.")
        return IntakeSummary(fault=plain(fault, MAX_LINE), mail_written=False)
    for line in in_words(summary):
        reporter.say(line)
    return summary


def tell_authors(workspace: Workspace, suite: str | None, say: Callable[[str], None]) -> None:
    """Writes anew what invited authors are told, where there is mail. What hinders it is said in a line.

    Args:
        suite: name or path; None for that of the settings.
    """
    if workspace.settings.mail:
        write_mail(workspace, load_suite(suite or workspace.settings.suite), say)


def in_words(summary: IntakeSummary) -> list[str]:
    """What an intake did, for a person: all of it printable, though strangers chose some of the words."""
    if summary.elsewhere:
        return ["Another intake of this host is looking at the inbox: it is left to that one."]
    lines = [line_of(letter) for letter in summary.letters]
    if summary.counts["delayed"]:
        lines.append("  One that is itself at fault can be ended: judge refuse INVITATION LETTER --reason WHY")
    counts = [f"{summary.counts[came]} {words}" for came, words in _WORDS.items() if summary.counts[came]]
    of = f"of {summary.invitations} invitations"
    lines.append(f"Letters {of}: {', '.join(counts)}." if counts else f"No new letters {of}.")
    return lines + [f"! {note}" for note in summary.notes]


def line_of(letter: Came) -> str:
    """What became of one letter, in a line."""
    name = plain(letter.name, 60) or letter.slot[:8]
    match letter.came:
        case "submitted":
            return f"+ {letter.invitation}: {name} is submitted as {letter.submission}"
        case "duplicate":
            return f"= {letter.invitation}: {name}: {plain(letter.sentence, MAX_LINE)}"
        case "refused":
            return f"- {letter.invitation}: {name}: {letter.verdict}: {plain(letter.sentence, MAX_LINE)}"
        case "delayed":
            return f"! {letter.invitation}: {letter.slot[:8]} waits: {plain(letter.sentence, MAX_LINE)}"


def _show(summary: IntakeSummary) -> None:
    console = table_console()
    if summary.letters:
        table = plain_table("invitation", "letter", "name", "came to", "submission")
        for letter in summary.letters:
            came = f"{letter.came} ({letter.verdict})" if letter.verdict else letter.came
            name = escape(plain(letter.name, 60))
            table.add_row(letter.invitation, letter.slot[:8], name, came, letter.submission)
        console.print(table)
    for line in in_words(summary):
        console.print(escape(line), soft_wrap=True)
    if summary.counts["submitted"]:
        console.print("Next: judge evaluate --all")

"""`judge show`: what is stored about one submission, for the maintainer; with --author, what its author may see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from judge.cli.output import print_json, print_lines
from judge.config import UsageError
from judge.disclosure.author_view import LOG_WITHHELD
from judge.evaluation.request import choose_submissions
from judge.intake.status import read_progress
from judge.records.decisions import Decisions, read_decisions
from judge.records.records import Result
from judge.records.results import HeldUnit, load_held, load_results, read_submissions
from judge.workspace import Workspace, open_workspace
from sandbox.events import plain
from sandbox.verdict import Verdict
from submissions.cli.status_tables import progress_lines
from submissions.preflight.log import read_log
from submissions.records import Submission
from submissions.tables import number_text, plain_table, table_console
from tasks.suites.suite import load_suite

MAX_FAILED, MAX_HELD = 3, 2  # lines of a summary of ten


def run_show(id: str, task: str | None, details: bool, author: bool, as_json: bool) -> None:
    """Shows one submission: its image, verdicts and held tasks; with --details or --task its metrics."""
    workspace = open_workspace()
    store = workspace.store
    submission = choose_submissions(read_submissions(store), [id])[0]
    if author:
        _show_to_author(workspace, submission, task, as_json)
        return
    trusted = workspace.trusted
    decisions = read_decisions(store, submission.id, trusted)
    counting = load_results(store, [submission.id], of_all_suites=True, trusted=trusted)
    results = [result for result in counting if task in (None, result.task)]
    held = [unit for unit in load_held(store, [submission.id]) if task in (None, unit.task)]
    if task and not results and not held:
        raise UsageError(f"{submission.id} has no result of {task!r}: see its tasks with judge show {submission.id}")
    if as_json:
        fields = {
            "submission": submission.model_dump(mode="json"),
            "decision": decisions.in_words,
            "results": [result.model_dump(mode="json") for result in results],
            "held": [{"task": unit.task, **unit.end.model_dump(mode="json")} for unit in held],
        }
        print_json(fields)
        return
    console = table_console()
    print_lines(console, _summary(submission, decisions, results, held))
    if task is None and not details:
        if results or held:
            print_lines(console, [_more(submission.id, results, held)])
        return
    if results:
        console.print(_results_table(results))
    for result in results if task else ():
        show_details(result, console)
    print_lines(console, map(_held_line, held))


def _summary(
    submission: Submission, decisions: Decisions, results: Sequence[Result], held: Sequence[HeldUnit]
) -> Iterator[str]:
    """At most nine lines: the model, its image, the decision about it, what is judged, what is not OK and held."""
    card = submission.card
    yield f"{plain(card.name)} {plain(card.version)}".strip() + f"  {submission.id}"
    yield f"{plain(submission.image.reference, 512)} ({submission.image.id[:19]}…)"
    if decisions.removal:
        yield decisions.in_words[:1].upper() + decisions.in_words[1:]
    if not results:
        yield f"Not judged yet: judge evaluate {submission.id}"
    else:
        counts = Counter(str(result.verdict) for result in results)
        yield f"Results: {', '.join(f'{count} {verdict}' for verdict, count in counts.items())}"
    failed = [result for result in results if result.verdict is not Verdict.OK]
    yield from _first([f"  {r.task}: {r.verdict}: {r.sentence}" for r in failed], MAX_FAILED, "tasks that are not OK")
    yield from _first([_held_line(unit) for unit in held], MAX_HELD, "held tasks")


def _first(lines: Sequence[str], limit: int, what: str) -> list[str]:
    """`lines`; if there are more than `limit`, the first of them and the number of the others."""
    if len(lines) <= limit:
        return [*lines]
    return [*lines[: limit - 1], f"  … and {len(lines) - limit + 1} more {what}"]


def _held_line(unit: HeldUnit) -> str:
    return f"held: {unit.task} ({unit.end.fault}): {unit.end.sentence}"


def _more(id: str, results: Sequence[Result], held: Sequence[HeldUnit]) -> str:
    """The commands that show what the summary leaves out."""
    task = results[0].task if results else held[0].task
    scores = f"; scores: judge explain {id}" if results else ""
    return f"Metrics: judge show {id} --details; of one task: --task {task}{scores}"


def show_details(result: Result, console: Console) -> None:
    """Prints failure costs, what failed and why, notes, and the metrics by part."""
    numbers = ("with failures", "failure cost")
    costs = plain_table("metric", *numbers, "unit", numbers=numbers, title=f"Failure costs in {result.task}")
    for name, metric in result.metrics.items():
        if metric.charged is not None:
            costs.add_row(name, number_text(metric.charged, 5), number_text(metric.failure_cost, 5), metric.unit)
    console.print(costs)
    print_lines(console, (result.sentence, *(f"{name}: {note}" for name, note in result.notes.items())))
    if result.parts:
        numbers, title = ("value", "failed"), f"Metrics of {result.task} by part"
        parts = plain_table("by", "part", "metric", "value", "unit", "failed", numbers=numbers, title=title)
        for part in result.parts:
            failed = f"{part.n_failed}/{part.n_items}"
            parts.add_row(part.by, escape(part.name), part.metric, number_text(part.value, 5), part.unit, failed)
        console.print(parts)


def _results_table(results: list[Result]) -> Table:
    numbers = ("value", "baseline", "failed")
    columns = ("task", "verdict", "metric", "value", "baseline", "unit", "failed")
    table = plain_table(*columns, numbers=numbers, title="Raw metrics, of no scheme")
    names = Counter(result.task for result in results)
    for result in results:
        name = result.task if names[result.task] == 1 else f"{result.task} ({result.provenance.dataset})"
        first: tuple[str, str] = (name, str(result.verdict))
        if not result.metrics:
            table.add_row(*first, escape(result.sentence), "", "", "", "")
        for name, metric in result.metrics.items():
            shown = (number_text(metric.value, 5), number_text(metric.baseline, 5))
            table.add_row(*first, name, *shown, metric.unit, f"{metric.n_failed}/{metric.n_items}")
            first = ("", "")
    return table


def _show_to_author(workspace: Workspace, submission: Submission, task: str | None, as_json: bool) -> None:
    """Prints what the author may see, as `lambench-submit status` shows it; of one task if `task` names it."""
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

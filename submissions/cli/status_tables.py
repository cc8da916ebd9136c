"""The state of submissions, for a terminal. Everything that a server sent is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from rich.markup import escape
from rich.table import Table

from sandbox.events import plain
from sandbox.verdict import Verdict
from submissions.client.status import PublicSite, TrackedRequest
from submissions.preflight.log import printable_end
from submissions.progress import duration
from submissions.requests import InvitationStatus, SubmissionProgress, TaskState
from submissions.tables import number_text, plain_table

_COLOURS = {
    "refused": "red",
    "disqualified": "red",
    "delayed": "yellow",
    "held": "yellow",
    "judged": "green",
    "published": "green",
}
LOG_LINES = 40  # the last lines of a log are the most useful
_SENTENCE = 1000


def requests_table(requests: Sequence[TrackedRequest]) -> Table:
    """A row for each request."""
    table = plain_table("submission", "name", "state", "tasks", "rank", "sent", numbers=("tasks", "rank"))
    for request in requests:
        progress = request.progress
        tasks = f"{len(progress.tasks)}/{progress.n_tasks}" if progress else ""
        rank = str(progress.rank) if progress and progress.rank else ""
        table.add_row(_plain(request.id), _plain(request.name), _state(request), tasks, rank, _when(request))
    return table


def one_line(request: TrackedRequest) -> str:
    """The state of a request, and why; markup."""
    decision = request.decision
    verdict = f"{decision.verdict}: " if decision and decision.verdict else ""
    why = _plain(f"{verdict}{decision.sentence}".rstrip(": "), _SENTENCE) if decision else ""
    return f"{_plain(request.id or request.name)}  {_state(request)}" + (f"  {why}" if why else "")


def quota_line(status: InvitationStatus) -> str:
    """How much of the invitation is used; markup."""
    quota = status.quota
    used = (
        f"Invitation {_plain(status.invitation)}: {quota.judged} of {quota.max_judged} submissions taken, "
        f"{quota.refused} of {quota.max_refused} requests refused. As of {status.written:%Y-%m-%d %H:%M} UTC."
    )
    return f"{used}\n[bold red]{_plain(status.revoked, _SENTENCE)}[/]" if status.revoked else used


def request_lines(request: TrackedRequest) -> Iterator[str | Table]:
    """All that is known of a request; markup."""
    decision = request.decision
    yield f"[bold]{_plain(request.name)}[/]"
    yield one_line(request)
    if decision and decision.outcome == "duplicate":
        yield f"This image was submitted before, as {_plain(decision.submission)}: that submission counts."
    if decision and decision.container_log:
        yield "What the container printed in the preflight:"
        yield from (f"  │ {escape(line)}" for line in printable_end(decision.container_log).split("\n")[-LOG_LINES:])
    if request.progress:
        yield from progress_lines(request.progress)


def site_table(site: PublicSite) -> Table:
    """A row for each published submission, by rank."""
    names = sorted({name for scores in site.scores.values() for name in scores} - {"rank"})
    title = f"{_plain(site.suite)}, published {site.published:%Y-%m-%d %H:%M} UTC"
    columns = [_plain(name) for name in names]
    table = plain_table("rank", "submission", *columns, numbers=("rank", *columns), title=title)
    for id, scores in sorted(site.scores.items(), key=lambda entry: (_rank(entry[1]), entry[0])):
        rank = scores.get("rank")
        table.add_row(f"{rank:.0f}" if rank else "", _plain(id), *(number_text(scores.get(name)) for name in names))
    return table


def site_line(site: PublicSite, id: str) -> str:
    """The scores of one published submission; markup."""
    scores = site.scores[id]
    rank = scores.get("rank")
    place = f", rank {rank:.0f}" if rank else ""
    return f"{_plain(id)}  [green]published[/]{place}: {_scores(scores)}"


def progress_lines(progress: SubmissionProgress) -> Iterator[str | Table]:
    """The progress of a submission; markup."""
    if progress.position is not None:
        yield f"In the queue: {progress.position}."
    if progress.tasks:
        table = plain_table("task", "verdict", "time", "memory", "")
        for task in progress.tasks:
            table.add_row(*_task(task))
        yield table
    if progress.n_tasks:
        yield f"{len(progress.tasks)} of {progress.n_tasks} tasks are done."
    if progress.scores:
        rank = f", rank {progress.rank}" if progress.rank else ""
        yield f"Scores{rank}: {_scores(progress.scores)}"
    if progress.page:
        yield f"Page: {_plain(progress.page, _SENTENCE)}"


def _task(task: TaskState) -> tuple[str, str, str, str, str]:
    colour = "green" if task.verdict == Verdict.OK else "red"
    time = duration(task.wall_s) if task.wall_s is not None else ""
    memory = f"{task.memory_bytes / 1e9:.2g} GB" if task.memory_bytes is not None else ""
    comment = " ".join(text for text in (task.phase, task.sentence) if text)
    return _plain(task.task), f"[{colour}]{task.verdict}[/]", time, memory, _plain(comment, _SENTENCE)


def _state(request: TrackedRequest) -> str:
    colour = _COLOURS.get(request.state)
    text = _plain(request.state)
    if request.progress and request.progress.position is not None and request.state == "waiting":
        text = f"{text} ({request.progress.position} in the queue)"
    return f"[{colour}]{text}[/]" if colour else text


def _when(request: TrackedRequest) -> str:
    sent: datetime | None = request.sent.sent if request.sent else None
    sent = sent or (request.decision.received if request.decision else None)
    return f"{sent:%Y-%m-%d %H:%M}" if sent else ""


def _scores(scores: Mapping[str, float | None]) -> str:
    return ", ".join(f"{_plain(name)} {number_text(value)}" for name, value in scores.items() if name != "rank")


def _rank(scores: Mapping[str, float | None]) -> float:
    return scores.get("rank") or float("inf")


def _plain(text: str, length: int = 200) -> str:
    return escape(plain(text, length))

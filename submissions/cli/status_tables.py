"""How submissions fare, for a terminal. Whatever the mailbox says is a stranger's text here: all of it is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from rich.markup import escape
from rich.table import Table

from sandbox.events import plain
from sandbox.verdict import Verdict
from submissions.client.status import Item, PublicSite
from submissions.preflight.log import printable_end
from submissions.progress import duration
from submissions.requests import Progress, Status, TaskState
from submissions.tables import plain_table

_COLOURS = {
    "refused": "red",
    "disqualified": "red",
    "delayed": "yellow",
    "held": "yellow",
    "judged": "green",
    "published": "green",
}
SAID_LINES = 40  # of a container: its last words say most
_SENTENCE = 1000


def items_table(found: Sequence[Item]) -> Table:
    """A line for each letter or submission."""
    table = plain_table("submission", "name", "state", "tasks", "rank", "sent", numbers=("tasks", "rank"))
    for item in found:
        progress = item.progress
        tasks = f"{len(progress.tasks)}/{progress.n_tasks}" if progress else ""
        rank = str(progress.rank) if progress and progress.rank else ""
        table.add_row(_plain(item.id), _plain(item.name), _state(item), tasks, rank, _when(item))
    return table


def one_line(item: Item) -> str:
    """Where an item is, and why; markup."""
    fate = item.fate
    verdict = f"{fate.verdict}: " if fate and fate.verdict else ""
    why = _plain(f"{verdict}{fate.sentence}".rstrip(": "), _SENTENCE) if fate else ""
    return f"{_plain(item.id or item.name)}  {_state(item)}" + (f"  {why}" if why else "")


def quota_line(status: Status) -> str:
    """How much of the invitation is used; markup."""
    quota = status.quota
    used = (
        f"Invitation {_plain(status.invitation)}: {quota.judged} of {quota.max_judged} submissions taken, "
        f"{quota.refused} of {quota.max_refused} letters refused. As of {status.written:%Y-%m-%d %H:%M} UTC."
    )
    return f"{used}\n[bold red]{_plain(status.revoked, _SENTENCE)}[/]" if status.revoked else used


def item_lines(item: Item) -> Iterator[str | Table]:
    """All that is known of an item; markup."""
    yield f"[bold]{_plain(item.name)}[/]"
    yield one_line(item)
    if item.fate and item.fate.came == "duplicate":
        yield f"This image was submitted before, as {_plain(item.fate.submission)}: that one counts."
    if item.fate and item.fate.said:
        yield "What the container said in the preflight:"
        yield from (f"  │ {escape(line)}" for line in printable_end(item.fate.said).split("\n")[-SAID_LINES:])
    if item.progress:
        yield from _progress_lines(item.progress)


def site_table(site: PublicSite) -> Table:
    """A line for each published submission, by rank."""
    names = sorted({name for scores in site.scores.values() for name in scores} - {"rank"})
    title = f"{_plain(site.suite)}, published {site.published:%Y-%m-%d %H:%M} UTC"
    columns = [_plain(name) for name in names]
    table = plain_table("rank", "submission", *columns, numbers=("rank", *columns), title=title)
    for id, scores in sorted(site.scores.items(), key=lambda entry: (_rank(entry[1]), entry[0])):
        rank = scores.get("rank")
        table.add_row(f"{rank:.0f}" if rank else "", _plain(id), *(_number(scores.get(name)) for name in names))
    return table


def site_line(site: PublicSite, id: str) -> str:
    """The scores of one published submission; markup."""
    scores = site.scores[id]
    rank = scores.get("rank")
    place = f", rank {rank:.0f}" if rank else ""
    return f"{_plain(id)}  [green]published[/]{place}: {_scores(scores)}"


def _progress_lines(progress: Progress) -> Iterator[str | Table]:
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
    words = " ".join(word for word in (task.phase, task.sentence) if word)
    return _plain(task.task), f"[{colour}]{task.verdict}[/]", time, memory, _plain(words, _SENTENCE)


def _state(item: Item) -> str:
    colour = _COLOURS.get(item.state)
    text = _plain(item.state)
    if item.progress and item.progress.position is not None and item.state == "waiting":
        text = f"{text} ({item.progress.position} in the queue)"
    return f"[{colour}]{text}[/]" if colour else text


def _when(item: Item) -> str:
    times: list[datetime] = [item.letter.sent] if item.letter else [item.fate.received] if item.fate else []
    return f"{times[0]:%Y-%m-%d %H:%M}" if times else ""


def _scores(scores: Mapping[str, float | None]) -> str:
    return ", ".join(f"{_plain(name)} {_number(value)}" for name, value in scores.items() if name != "rank")


def _rank(scores: Mapping[str, float | None]) -> float:
    return scores.get("rank") or float("inf")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _plain(text: str, length: int = 200) -> str:
    return escape(plain(text, length))

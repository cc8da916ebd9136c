"""`judge status`: who works on what in the store, how fast, and what is left. Changes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from judge.cli.output import print_json
from judge.evaluation.store_status import StoreStatus, status_of
from judge.records.attempts import DeathWatch, Life
from judge.records.decisions import read_all_decisions
from judge.records.record_cache import open_cache
from judge.records.results import read_submissions
from judge.records.suite_record import load_unchanged
from judge.workspace import Workspace, open_workspace
from submissions.progress import count, duration
from submissions.records import utc_now
from submissions.tables import plain_table, table_console

_WORDS = {
    Life.ALIVE: "alive",
    Life.DEAD: "gone: the next worker takes it over",
    Life.UNKNOWN: "no sign of life seen yet",
}


def run_status(suite: str | None, watch: bool, as_json: bool) -> None:
    """Shows the state once, or renews it until everything is judged or Ctrl-C."""
    workspace = open_workspace()
    states = _states(workspace, suite)
    if as_json:
        print_json(next(states).model_dump(mode="json"))
        return
    console = table_console()
    if not watch:
        console.print(_shown(next(states)))
        return
    with Live(console=console, auto_refresh=False) as live:
        for state in states:
            live.update(_shown(state), refresh=True)
            if state.left_s == 0 and not state.running:
                return
            time.sleep(workspace.settings.beat_s)


def _states(workspace: Workspace, suite_name: str | None) -> Iterator[StoreStatus]:
    """The state now, at each step."""
    settings, store = workspace.settings, workspace.store
    suite = load_unchanged(store, suite_name or settings.suite)
    cache, watch = open_cache(settings, store), DeathWatch(store, settings.dead_after_s)
    while True:
        ids = [submission.id for submission in read_submissions(store)]
        decisions = read_all_decisions(store, ids, workspace.trusted)
        yield status_of(suite, cache.facts(ids), decisions, watch, utc_now())


def _shown(state: StoreStatus) -> Group:
    share = f"{state.n_judged} of {state.n_units} units of {count(state.n_submissions, 'submission')} are judged"
    lines = [f"{state.suite}: {share}; {len(state.running)} run now, {len(state.held)} are held."]
    if state.left_s:
        end = datetime.fromtimestamp(time.time() + state.left_s).strftime("%Y-%m-%d %H:%M")
        lines.append(f"{state.per_hour:.3g} units an hour: done in about {duration(state.left_s)} ({end}).")
    elif state.left_s is None:
        lines.append("No unit ended in the last hour, so the time that is left is not known.")
    tables: list[Table] = []
    if state.running:
        tables.append(plain_table("host", "process", "submission", "task", "for", ""))
        for unit in state.running:
            age = duration((utc_now() - unit.since).total_seconds())
            row = (unit.host, _pid(unit.process), unit.submission, unit.task, age, _WORDS[unit.life])
            tables[-1].add_row(*map(escape, row))
    if state.held:
        tables.append(plain_table("held", "task", "why"))
        for held in state.held:
            tables[-1].add_row(*map(escape, (held.submission, held.task, held.sentence)))
    return Group(*map(escape, lines), *tables)


def _pid(process: str) -> str:
    """The number of a process, from its identity."""
    parts = process.split("/")
    return parts[2] if len(parts) > 2 else process

"""The disturbances of judges, engines, disks and stores, and the table of their outcomes."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Callable, Sequence
from typing import NamedTuple

from judge.records.attempts import History, read_histories
from judge.records.probe_secret import KEY as ORDER_SECRET
from sandbox.events import Event
from tests.judge.evaluation.kills.kill_world import NAMES, At, KillWorld, Row, finish
from tests.servers.own_engine import OwnEngine
from tests.servers.server_process import wait_until

TAGS = tuple(f"lambench/{name}:latest" for name in NAMES)
RANDOM_S = 3.0  # of a run that takes about twice as long

# Told by no run of `judge evaluate`, and why.
ELSEWHERE = {
    Event.SELFTEST_ENDED: "of judge selftest",
    Event.EVENT_RECORDED: "of withdrawals, disqualifications and judge rejudge",
    Event.COLLECTED: "of judge gc",
    Event.PUBLISHED: "of judge site publish",
    Event.INVITED: "of judge invite",
    Event.REVOKED: "of judge revoke",
    Event.REQUEST_TAKEN: "of judge intake: tests/judge/intake/test_intake.py dies there",
    Event.REQUEST_REFUSED: "of judge intake",
    Event.REQUEST_DELAYED: "of judge intake",
    Event.IMAGE_MIRRORED: "of judge intake",
    Event.IMAGE_PULLED: "of images that this engine has lost",
    Event.STATUS_WRITTEN: "of judge intake",
}

Make = Callable[..., KillWorld]
Undisturbed = Callable[[str, Sequence[str]], list[str]]
Settled = Callable[..., None]


def fill(world: KillWorld, names: Sequence[str]) -> None:
    """The submissions, and the secret that transformed copies are drawn with: digests of stores depend on both."""
    world.store.put(ORDER_SECRET, bytes(32))
    world.submit_examples(names)


class Line(NamedTuple):
    """A row of the table; a disk that was full is no kill, and is counted apart."""

    row: Row
    full_disks: int


def table_of(measured_lines: Sequence[Line]) -> str:
    """The table of the rows and their sum."""
    rows = [line.row for line in measured_lines]
    total = Row("all", sum(row.kills for row in rows), sum(row.runs for row in rows), all(row.equal for row in rows))
    lines = [f"{'scenario':55} {'kills':>5} {'full disks':>10} {'runs till done':>14}  digest equal"]
    lines += [
        f"{row.scenario:55} {row.kills:5} {full:10} {row.runs:14}  {'yes' if row.equal else 'NO'}"
        for row, full in (*measured_lines, Line(total, sum(line.full_disks for line in measured_lines)))
    ]
    return "\n".join(lines)


def take_store_away(world: KillWorld, step: Event, count: int, another: bool = False) -> None:
    """In the middle of a run, which says so in one line; then the store is brought back.

    Args:
        another: an empty folder takes its place, as where a disk was mounted.
    """
    store, before = world.root / "store", world.told(step)
    judge = world.launch()
    world.wait_for(step, judge, before + count)
    away = store.rename(world.root / "away")
    if another:
        store.mkdir()
    ended = finish(judge)
    complaint = "is another folder or disk than at first" if another else "is gone: bring it back"
    assert ended.status == 3, ended
    assert len(ended.err.splitlines()) == 1, ended.err
    assert complaint in ended.err
    assert store.exists() == another
    if another:
        store.rmdir()  # fails if anything was written to it
    away.rename(store)
    world.kills += 1


def run_into_full_disk(world: KillWorld) -> None:
    """Runs a judge that reports in one line that the disk is full."""
    ended = finish(world.launch())
    assert ended.status == 3, ended
    assert len(ended.err.splitlines()) == 1, ended.err
    assert "free some space" in ended.err


def kill_at_random(world: KillWorld, rng: random.Random, within_s: float = RANDOM_S) -> bool:
    """Kills a judge at a random moment; whether it had not ended by itself before."""
    begun = world.told(Event.RUN_BEGUN)
    judge = world.launch()
    if rng.random() < 0.9:  # else while it starts
        world.wait_for(Event.RUN_BEGUN, judge, begun + 1)
    try:
        judge.wait(rng.uniform(0, within_s))
    except subprocess.TimeoutExpired:
        judge.kill()
    killed = finish(judge).status == -signal.SIGKILL
    world.kills += killed
    return killed


def kill_engine(world: KillWorld, engine: OwnEngine, step: Event, *at: At) -> int:
    """Kills the engine in the middle of a run, starts it again once that is noticed; the run's exit status."""
    before, gone = world.told(step), world.told(Event.ENGINE_GONE)
    judge = world.launch(*at)
    world.wait_for(step, judge, before + 1)
    engine.kill()
    world.kills += 1
    try:
        wait_until(lambda: world.told(Event.ENGINE_GONE) > gone or judge.poll() is not None, "it notices")
    finally:
        engine.start()
    ended = finish(judge)
    world.kills += ended.status == -signal.SIGKILL
    return ended.status


def all_histories(world: KillWorld) -> list[History]:
    submissions = sorted({key.split("/")[1] for key in world.store.list("submissions/")})
    return list(read_histories(world.store, submissions).values())

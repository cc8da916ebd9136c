"""Kill it anywhere: the judge, its engine, its disk, its store; afterwards the store is that of an undisturbed run.

`make test` runs a share of six, `make soak` the rest, with a table at its end.

The dynamics are of two structures (`KillWorld.prepare`): a calculator that is asked about one alone keeps its neighbour
list from step to step, and one that goes on in a fresh process builds it anew; the numbers then differ in the last bits
though all is well. Where an engine is killed more than once the last runs are told `--retry-held`: each going of an
engine costs attempts of the unit that was being judged, and three of them hold it for a person, as they should. That
nothing but a gone engine held anything is looked at first.
"""

from __future__ import annotations

import random
import signal
from contextlib import ExitStack

import docker
import pytest

from judge.records.attempts import read_histories
from sandbox.events import Event
from tests.judge.evaluation.kills.kill_world import STOP, At, finish
from tests.judge.evaluation.kills.scenarios import (
    Line,
    Make,
    Settled,
    fill,
    kill_at_random,
    kill_engine,
    run_into_full_disk,
    take_store_away,
)
from tests.judge.evaluation.kills.small_disk import small_disk
from tests.servers.own_engine import OwnEngine

SHARE = 6
STEPS_OF_SHARE, ENGINE_OF_SHARE = "share: steps, store, random", "share: an engine killed"


@pytest.mark.slow
def test_killed_five_times_and_done_at_last(make: Make, settled: Settled) -> None:
    """At three named steps, with the store taken away, and at a random moment: all on one store.

    Where the last one was done before it could be killed, nothing is left to be killed at: all begins anew.
    """
    rng = random.Random(1)
    for _ in range(5):
        world = make(("emt",))
        for step in (Event.CLAIMED, Event.OBSERVATION_STORED, Event.ITEMS_STORED):
            world.die(At(step))
        take_store_away(world, Event.READY, 1)
        if kill_at_random(world, rng, within_s=1.0):
            break
    assert world.kills == 5
    settled(STEPS_OF_SHARE, world, ("emt",))


@pytest.mark.slow
def test_a_disk_that_is_full(make: Make, settled: Settled) -> None:
    with ExitStack() as stack:
        world = make(())
        disk = stack.enter_context(small_disk(world.root / "store", 8))
        fill(world, ("emt",))
        run_into_full_disk(world)
        disk.resize(4096)
        settled("share: a full disk", world, ("emt",), full_disks=1)


@pytest.mark.slow
@pytest.mark.docker
def test_an_engine_that_is_killed(
    make: Make, settled: Settled, images: docker.DockerClient, engine_of_ours: OwnEngine
) -> None:
    world = make(("emt",), driver="docker", docker_host=engine_of_ours.url)
    kill_engine(world, engine_of_ours, Event.READY)
    assert world.kills == 1
    settled(ENGINE_OF_SHARE, world, ("emt",))


@pytest.mark.slow
@pytest.mark.docker
def test_six_kills_were_made(tally: list[Line]) -> None:
    kills = {line.row.scenario: line.row.kills for line in tally}
    if not {STEPS_OF_SHARE, ENGINE_OF_SHARE} <= kills.keys():
        pytest.skip("only some of the share was run")
    assert kills[STEPS_OF_SHARE] + kills[ENGINE_OF_SHARE] == SHARE


@pytest.mark.slow
def test_a_late_end_of_a_judge_believed_dead_is_ignored(make: Make, settled: Settled) -> None:
    """It is stopped with an observation stored and its end not written, and goes on when another has judged all.

    It stores the answers of one unit while it asks the next, which it may have claimed by then.
    """
    world = make(("emt",))
    late = world.launch(At(Event.OBSERVATION_STORED, 1, STOP))
    world.wait_for_stop(late)
    try:
        other = finish(world.launch())
        assert other.status == 0, other
        (submission,) = (key.split("/")[1] for key in world.store.list("submissions/"))
        before = read_histories(world.store, [submission])
        assert sorted(len(history.attempts) for history in before.values()) in ([1, 1, 1, 2], [1, 1, 2, 2])
    finally:
        late.send_signal(signal.SIGCONT)
    ended = finish(late)
    assert ended.status == 0, ended
    assert "was taken over" in ended.out
    assert read_histories(world.store, [submission]) == before
    settled("a late end", world, ("emt",))

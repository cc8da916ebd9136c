"""Kills at each step, at random moments and of everything: the part of `make soak`."""

from __future__ import annotations

import random
import signal
import subprocess

import docker
import pytest

from sandbox.events import Event
from sandbox.verdict import FaultCause
from tests.judge.evaluation.kills.kill_world import KILL, NAMES, STOP, At, finish
from tests.judge.evaluation.kills.scenarios import (
    ELSEWHERE,
    RANDOM_S,
    Line,
    Make,
    Settled,
    Undisturbed,
    all_histories,
    fill,
    kill_at_random,
    kill_engine,
    run_into_full_disk,
    take_store_away,
)
from tests.judge.evaluation.kills.small_disk import small_disk
from tests.servers.own_engine import OwnEngine

MANY = 40

# Of containers, or told only once something else has gone wrong: each of these has a test of its own below.
AFTER_MORE = {
    Event.CONTAINER_CREATED,
    Event.FAULT,
    Event.HELD,
    Event.QUARANTINED,
    Event.ENGINE_GONE,
    Event.ENGINE_BACK,
}

STEPS = [event for event in Event if event not in ELSEWHERE and event not in AFTER_MORE]
SCENARIOS = 11  # of `make soak`


def kill_many_at_random(make: Make, settled: Settled, driver: str, kills: int, seed: int) -> None:
    rng, done = random.Random(seed), 0
    while done < kills:
        world = make(driver=driver)
        while done + world.kills < kills and kill_at_random(world, rng):
            pass
        done += world.kills
        settled(f"random moments, {driver}, seed {seed}", world)


@pytest.mark.soak
def test_what_a_judge_left_is_removed_by_the_one_that_takes_over(make: Make, settled: Settled) -> None:
    """It dies after the other has checked for dead judges, and before the other is done."""
    world = make(("emt",))
    first = world.launch(At(Event.READY, 1, STOP))
    world.wait_for_stop(first)
    other = world.launch()
    world.wait_for(Event.REAPED, other, 2)
    first.kill()
    assert finish(first).status == -signal.SIGKILL
    world.kills += 1
    ended = finish(other)
    assert ended.status == 0, ended
    assert world.told(Event.TAKEN_OVER) == 1
    settled("taken over by a judge that was there", world, ("emt",))


@pytest.mark.soak
@pytest.mark.parametrize("driver", ["process", pytest.param("docker", marks=pytest.mark.docker)])
def test_killed_at_each_step(
    make: Make, settled: Settled, undisturbed: Undisturbed, driver: str, request: pytest.FixtureRequest
) -> None:
    """One judge after the other on one store, each killed at another step; what there is by then is always right."""
    steps = STEPS
    if driver == "docker":
        request.getfixturevalue("images")
        steps = [event for event in Event if event in STEPS or event is Event.CONTAINER_CREATED]
    expected = undisturbed(driver, NAMES)
    world = make(driver=driver)
    for step in steps:
        world.die(At(step))
        assert set(world.digest_lines()) <= set(expected), step
    settled(f"each step, {driver}", world)


@pytest.mark.soak
def test_killed_at_faults_and_holds(make: Make, settled: Settled) -> None:
    """Faults are counted in the attempts: kills between them change nothing in how many there may be."""
    world = make(("emt",))
    in_the_way = world.root / "run" / "checkpoints"
    in_the_way.write_text("a file where a folder must be")
    world.die(At(Event.FAULT))
    world.die(At(Event.FAULT))
    world.die(At(Event.HELD))
    assert finish(world.launch()).status == 1
    (history,) = (h for h in all_histories(world) if h.faults)
    assert len(history.faults) == len(history.attempts) == 3
    assert history.held is not None
    in_the_way.unlink()
    settled(f"steps {Event.FAULT}, {Event.HELD}", world, ("emt",), retry_held=True)


@pytest.mark.soak
def test_killed_as_a_data_set_is_set_aside(make: Make, settled: Settled) -> None:
    """A data set that goes after the run has begun spoils two submissions' attempts, and is quarantined."""
    world = make()
    data = world.root / "data" / "drift@1"
    judge = world.launch(At(Event.RUN_BEGUN, 1, STOP), At(Event.QUARANTINED, 1, KILL))
    world.wait_for_stop(judge)
    data.rename(data.with_name("away"))
    judge.send_signal(signal.SIGCONT)
    ended = finish(judge)
    assert ended.status == -signal.SIGKILL, ended
    world.kills += 1
    data.with_name("away").rename(data)
    assert finish(world.launch()).status == 1
    settled(f"step {Event.QUARANTINED}", world, retry_held=True)


@pytest.mark.soak
def test_killed_at_random_moments(make: Make, settled: Settled) -> None:
    kill_many_at_random(make, settled, "process", 12, 2)


@pytest.mark.soak
@pytest.mark.docker
def test_killed_at_random_moments_with_containers(make: Make, settled: Settled, images: docker.DockerClient) -> None:
    kill_many_at_random(make, settled, "docker", 6, 3)


@pytest.mark.soak
@pytest.mark.docker
def test_engines_killed_and_judges_beside_them(
    make: Make, settled: Settled, images: docker.DockerClient, engine_of_ours: OwnEngine
) -> None:
    world = make(driver="docker", docker_host=engine_of_ours.url)
    for step in (Event.CONTAINER_CREATED, Event.READY):
        kill_engine(world, engine_of_ours, step, At(Event.RESULT_STORED, 3))
    assert kill_engine(world, engine_of_ours, Event.CONTAINER_STARTED, At(Event.ENGINE_GONE)) == -signal.SIGKILL
    assert kill_engine(world, engine_of_ours, Event.CONTAINER_STARTED, At(Event.ENGINE_BACK)) == -signal.SIGKILL
    assert {end.fault for history in all_histories(world) for end in history.faults} <= {FaultCause.DOCKER}
    settled("engine killed, and judges at its going and coming", world, retry_held=True)
    # Nor did anything else go wrong while what was held was tried once more.
    assert {end.fault for history in all_histories(world) for end in history.faults} <= {FaultCause.DOCKER}


@pytest.mark.soak
def test_a_store_that_grows_with_its_disk(make: Make, settled: Settled) -> None:
    world = make(())
    with small_disk(world.root / "store", 8) as disk:
        fill(world, NAMES)
        for pages in (8, 12, 16, 24, 32):
            disk.resize(pages)
            run_into_full_disk(world)
        disk.resize(4096)
        settled("full disks", world, full_disks=5)


@pytest.mark.soak
def test_without_room_nothing_is_begun(make: Make, settled: Settled) -> None:
    world = make(("emt",), min_free_bytes=1024**2)
    with small_disk(world.root / "run", 200) as disk:
        ended = finish(world.launch())
        assert ended.status == 3, ended
        assert "are free at" in ended.out
        assert not list(world.store.list("attempts/"))
        disk.resize(4096)
        settled("no room for a run", world, ("emt",), full_disks=1)


@pytest.mark.soak
def test_a_store_taken_away_and_brought_back(make: Make, settled: Settled) -> None:
    world = make()
    take_store_away(world, Event.CLAIMED, 2)
    take_store_away(world, Event.ANSWERED, 1, another=True)
    take_store_away(world, Event.RESULT_STORED, 1)
    settled("store away and back", world)


@pytest.mark.soak
def test_two_judges_with_kills_among_them(make: Make, settled: Settled) -> None:
    rng, world = random.Random(4), make()
    judges = [world.launch(), world.launch()]
    for turn in range(6):
        victim = judges[turn % 2]
        try:
            victim.wait(rng.uniform(3, 3 + RANDOM_S))
        except subprocess.TimeoutExpired:
            victim.kill()
        world.kills += finish(victim).status == -signal.SIGKILL
        judges[turn % 2] = world.launch()
    for judge in judges:
        ended = finish(judge)
        assert ended.status == 0, ended
    settled("two judges", world)


@pytest.mark.soak
def test_forty_kills_were_made(tally: list[Line]) -> None:
    if len(tally) < SCENARIOS:
        pytest.skip("only some of the scenarios were run")
    assert sum(line.row.kills for line in tally) >= MANY  # full disks left out
    assert all(line.row.equal for line in tally)

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
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import docker
import pytest

from judge.audit.store_digest import digest_of
from judge.records.attempts import History, read_histories
from judge.records.probe_secret import KEY as ORDER_SECRET
from sandbox.events import Event
from sandbox.verdict import FaultCause
from tests.judge.evaluation.kills import KILL, NAMES, STOP, At, KillWorld, Row, finish, wait_until
from tests.judge.evaluation.own_engine import OwnEngine, own_engine
from tests.judge.evaluation.small_disk import small_disk

TAGS = tuple(f"lambench/{name}:latest" for name in NAMES)
MANY, SHARE = 40, 6
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
STEPS_OF_SHARE, ENGINE_OF_SHARE = "share: steps, store, random", "share: an engine killed"

Make = Callable[..., KillWorld]
Undisturbed = Callable[[str, Sequence[str]], list[str]]
Settled = Callable[..., None]


@pytest.fixture(scope="module")
def make() -> Iterator[Make]:
    """Makes worlds, gone at the end."""
    with ExitStack() as stack:

        def made(names: Sequence[str] = NAMES, **settings: object) -> KillWorld:
            folder = stack.enter_context(TemporaryDirectory(prefix="lj"))
            world = KillWorld(Path(folder), **settings)  # type: ignore[arg-type]
            stack.callback(world.end)
            world.prepare()
            fill(world, names)
            return world

        yield made


@pytest.fixture(scope="module")
def undisturbed(make: Make) -> Undisturbed:
    """What the digest of a run without kills is made of."""
    known: dict[tuple[str, Sequence[str]], list[str]] = {}

    def lines(driver: str, names: Sequence[str]) -> list[str]:
        if (driver, names) not in known:
            world = make(names, driver=driver)
            assert world.settle() == 1
            world.check()
            assert not {line["event"] for line in world.log_lines()} & {event.value for event in ELSEWHERE}
            known[driver, names] = world.digest_lines()
            assert len(known[driver, names]) == 4 * len(names)
        return known[driver, names]

    return lines


def fill(world: KillWorld, names: Sequence[str]) -> None:
    """Submissions, and the secret that transformed copies are drawn with: stores with other ones have other digests."""
    world.store.put(ORDER_SECRET, bytes(32))
    world.submit_examples(names)


class Line(NamedTuple):
    """A row of the table; a disk that was full is no kill, and is counted apart."""

    row: Row
    full_disks: int


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Iterator[list[Line]]:
    """What each scenario came to: a table at the end."""
    rows: list[Line] = []
    yield rows
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("\n" + table_of(rows))


def table_of(found: Sequence[Line]) -> str:
    """The rows with their sum, for a person."""
    rows = [line.row for line in found]
    total = Row("all", sum(row.kills for row in rows), sum(row.runs for row in rows), all(row.equal for row in rows))
    lines = [f"{'scenario':55} {'kills':>5} {'full disks':>10} {'runs till done':>14}  digest equal"]
    lines += [
        f"{row.scenario:55} {row.kills:5} {full:10} {row.runs:14}  {'yes' if row.equal else 'NO'}"
        for row, full in (*found, Line(total, sum(line.full_disks for line in found)))
    ]
    return "\n".join(lines)


@pytest.fixture
def settled(undisturbed: Undisturbed, tally: list[Line]) -> Settled:
    """Judges what is left, and holds the store against an undisturbed one."""

    def settle(
        scenario: str,
        world: KillWorld,
        names: Sequence[str] = NAMES,
        *,
        retry_held: bool = False,
        full_disks: int = 0,
    ) -> None:
        runs = world.settle(retry_held)
        found, expected = world.digest_lines(), undisturbed(world.driver, names)
        tally.append(Line(Row(scenario, world.kills, runs, digest_of(found) == digest_of(expected)), full_disks))
        assert found == expected
        assert digest_of(found) == digest_of(expected)
        world.check()

    return settle


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
    said = "is another folder or disk than at first" if another else "is gone: bring it back"
    assert ended.status == 3, ended
    assert len(ended.err.splitlines()) == 1, ended.err
    assert said in ended.err
    assert store.exists() == another
    if another:
        store.rmdir()  # fails if anything was written to it
    away.rename(store)
    world.kills += 1


def run_into_full_disk(world: KillWorld) -> None:
    """A run that says in one line that the disk is full."""
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


def kill_many_at_random(make: Make, settled: Settled, driver: str, kills: int, seed: int) -> None:
    rng, done = random.Random(seed), 0
    while done < kills:
        world = make(driver=driver)
        while done + world.kills < kills and kill_at_random(world, rng):
            pass
        done += world.kills
        settled(f"random moments, {driver}, seed {seed}", world)


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


@pytest.fixture
def engine_of_ours(images: docker.DockerClient) -> Iterator[OwnEngine]:
    with TemporaryDirectory(prefix="le") as folder, own_engine(Path(folder), TAGS, images) as engine:
        yield engine


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


@pytest.mark.slow
def test_a_late_end_of_a_judge_believed_dead_is_ignored(make: Make, settled: Settled) -> None:
    """It is stopped with an observation stored and its end not written, and goes on when another has judged all."""
    world = make(("emt",))
    late = world.launch(At(Event.OBSERVATION_STORED, 1, STOP))
    world.wait_for_stop(late)
    try:
        other = finish(world.launch())
        assert other.status == 0, other
        (submission,) = (key.split("/")[1] for key in world.store.list("submissions/"))
        before = read_histories(world.store, [submission])
        assert sorted(len(history.attempts) for history in before.values()) == [1, 1, 1, 2]
    finally:
        late.send_signal(signal.SIGCONT)
    ended = finish(late)
    assert ended.status == 0, ended
    assert "was taken over" in ended.out
    assert read_histories(world.store, [submission]) == before
    settled("a late end", world, ("emt",))


@pytest.mark.soak
def test_what_a_judge_left_is_removed_by_the_one_that_takes_over(make: Make, settled: Settled) -> None:
    """It dies after the other has looked for what dead judges left, and before that one is done."""
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
        assert ended.status == 1, ended
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


def all_histories(world: KillWorld) -> list[History]:
    submissions = sorted({key.split("/")[1] for key in world.store.list("submissions/")})
    return list(read_histories(world.store, submissions).values())


@pytest.mark.soak
def test_forty_kills_were_made(tally: list[Line]) -> None:
    if len(tally) < SCENARIOS:
        pytest.skip("only some of the scenarios were run")
    assert sum(line.row.kills for line in tally) >= MANY  # full disks left out
    assert all(line.row.equal for line in tally)

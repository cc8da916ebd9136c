"""Worlds in which judges are killed, the digest of an undisturbed run, and the table of outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import pytest

from judge.audit.store_digest import digest_of
from tests.judge.evaluation.kills.kill_world import NAMES, KillWorld, Row
from tests.judge.evaluation.kills.scenarios import ELSEWHERE, TAGS, Line, Make, Settled, Undisturbed, fill, table_of
from tests.servers.own_engine import OwnEngine, own_engine


@pytest.fixture(scope="module")
def make() -> Iterator[Make]:
    """Makes worlds, which are removed at the end."""
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
    """The digest lines of a run without kills."""
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


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Iterator[list[Line]]:
    """The outcomes of the scenarios, printed as a table at the end."""
    rows: list[Line] = []
    yield rows
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("\n" + table_of(rows))


@pytest.fixture
def settled(undisturbed: Undisturbed, tally: list[Line]) -> Settled:
    """Judges the rest, and compares the store with an undisturbed one."""

    def settle(
        scenario: str,
        world: KillWorld,
        names: Sequence[str] = NAMES,
        *,
        retry_held: bool = False,
        full_disks: int = 0,
    ) -> None:
        runs = world.settle(retry_held)
        lines, expected = world.digest_lines(), undisturbed(world.driver, names)
        tally.append(Line(Row(scenario, world.kills, runs, digest_of(lines) == digest_of(expected)), full_disks))
        assert lines == expected
        assert digest_of(lines) == digest_of(expected)
        world.check()

    return settle


@pytest.fixture
def engine_of_ours(images: docker.DockerClient) -> Iterator[OwnEngine]:
    with TemporaryDirectory(prefix="le") as folder, own_engine(Path(folder), TAGS, images) as engine:
        yield engine

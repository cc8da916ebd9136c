"""A world with judged results of EMT, and changes to its records."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from judge.evaluation.host_selftest import AttackRecord, SelftestRecord, store_selftest
from judge.records.items_file import result_path
from judge.records.records import Result
from judge.records.signing import SigningKey
from judge.version import judge_version
from sandbox.selftest.catalog import ATTACKS
from sandbox.selftest.run import LEFT_BEHIND
from submissions.records import utc_now
from tests.world.world import World, small_world


@contextmanager
def make_judged_world() -> Iterator[World]:
    """A world with a signed result of EMT for each task."""
    with TemporaryDirectory(prefix="lj") as folder:
        world = small_world(Path(folder), copper_shift=0.01, nickel_shift=0.02)
        world.submit("emt")
        summary, output = world.evaluate()
        assert summary.exit_status == 0, output
        world.write_settings()
        yield world


@contextmanager
def copy_of(world: World) -> Iterator[World]:
    """The same world in another folder."""
    with TemporaryDirectory(prefix="lj") as folder:
        shutil.copytree(world.root, folder, dirs_exist_ok=True)
        yield replace(world, root=Path(folder))


def result_key(world: World, task: str = "copper") -> str:
    """The key in the store of the result of a task."""
    (result,) = [result for result in world.results() if result.task == task]
    return result_path(result.submission, result.task, result.result_key)


def submission_of(world: World) -> str:
    """ID of the one submission."""
    (submission,) = {result.submission for result in world.results()}
    return submission


def change_result(world: World, change: Callable[[Result], Result], key: SigningKey | None = None) -> str:
    """Changes the result of copper and signs it with `key`, or keeps its signature. Returns its key in the store."""
    path = result_key(world)
    changed = change(Result.read(world.store.get(path)))
    world.store.put(path, (key.sign(changed) if key else changed).model_dump_json(indent=1).encode())
    return path


def own_key_of(world: World) -> SigningKey:
    """The signing key of this world's judge."""
    return SigningKey.load(world.settings.key_file)


def scaled(result: Result, factor: float = 0.5) -> Result:
    """The result with its force error multiplied by `factor`."""
    metric = result.metrics["force_rmse"]
    assert metric.value is not None
    better = replace(metric, value=metric.value * factor)
    return result.model_copy(update={"metrics": {**result.metrics, "force_rmse": better}})


def all_held() -> tuple[AttackRecord, ...]:
    """The results of a complete selftest in which every attack failed."""
    names = (*(attack.name for attack in ATTACKS), LEFT_BEHIND)
    return tuple(AttackRecord(name=name, tries="", held=True, how="", seconds=1.0) for name in names)


def proven_in_a_container(world: World, key: SigningKey, days_ago: float = 0) -> str:
    """Changes the result of copper to one from a container, and stores a selftest of its engine, signed by `key`.

    Returns the key of the selftest in the store.
    """

    def in_a_container(result: Result) -> Result:
        origin = result.provenance.origin.model_copy(update={"driver": "docker", "engine": "an engine"})
        return result.model_copy(update={"provenance": result.provenance.model_copy(update={"origin": origin})})

    path = change_result(world, in_a_container, own_key_of(world))
    record = SelftestRecord(
        host=Result.read(world.store.get(path)).provenance.origin.host,
        engine="an engine",
        driver="docker",
        judge_version=judge_version(),
        judge_commit="",
        guest="",
        base="",
        started=utc_now() - timedelta(days=days_ago),
        seconds=1.0,
        results=all_held(),
        passed=True,
    )
    return store_selftest(world.store, key.sign(record))

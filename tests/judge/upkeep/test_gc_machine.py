"""Files of dead judges and old images on a machine are removed, and nothing else."""

from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from judge.evaluation.checkpoint_file import checkpoint_of
from judge.records.attempts import read_histories, unit_prefix
from judge.records.observation_file import observation_path
from judge.records.process_identity import process_identity
from judge.upkeep.gc import StoreAttempts, read_attempts
from judge.upkeep.gc_machine import (
    SELFTEST_IMAGES,
    checkpoints,
    dead_sessions,
    engine_images,
    selftest_images,
    unreferred_images,
)
from sandbox.image.image_check import CALCULATOR_LABEL
from sandbox.rundir import RunDir
from submissions.store.local import LocalStore
from tests.judge.upkeep.gc_store import FUTURE, MODEL, claimed_by, vanish_when_seen
from tests.world.board_records import good_results, save
from tests.world.world import World


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """A submission with all its results, and an observation to each."""
    made = LocalStore(tmp_path / "store")
    results = good_results(MODEL, 0.5)
    save(made, [MODEL], results)
    for result in results:
        assert result.provenance.observation
        made.put(observation_path(result.provenance.observation), b"answers")
    return made


def test_checkpoints_go_with_their_units_verdict_or_with_age(store: LocalStore, tmp_path: Path) -> None:
    run_dir, here = tmp_path / "run", "this machine"
    ended = next(prefix for prefix in read_histories(store, [MODEL.id]) if "/drift/" in prefix)
    living = claimed_by(store, process_identity())
    saved = [
        checkpoint_of(run_dir, prefix, name, here)
        for prefix, name in (
            (ended, MODEL.id),
            (living, MODEL.id),
            (unit_prefix("other-0123456789ab", "drift", "o" * 32), "other-0123456789ab"),
        )
    ]
    for checkpoint in saved:
        checkpoint.save({})
    half = saved[2].path.with_name(f".{saved[2].path.name}.0a0b0c0d")
    half.write_bytes(b"half")
    attempts = read_attempts(store)
    names = [garbage.name for garbage in checkpoints(run_dir, attempts, {here}, time.time() - 86400)]
    assert names == [str(saved[0].path)]
    assert checkpoints(run_dir, attempts, {"another"}, time.time() - 86400) == ()
    old = checkpoints(run_dir, attempts, {here}, FUTURE)
    assert {garbage.name for garbage in old} == {str(saved[0].path), str(saved[2].path), str(half)}
    assert all(garbage.remove() for garbage in old)
    assert sorted((run_dir / "checkpoints").iterdir()) == [saved[1].path]  # whose judge lives


def test_session_folders_of_dead_judges_go_and_of_the_living_stay(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    assert dead_sessions(run_dir) == ()
    assert not run_dir.exists()
    place = RunDir(run_dir)
    with place.session() as (folder, _):
        dead = run_dir / "sessions" / "99999999-0a0b0c0d-1"
        dead.mkdir()
        (dead / "guest.pyz").write_bytes(b"abc")
        (garbage,) = dead_sessions(run_dir)
        assert (garbage.name, garbage.size_bytes) == (str(dead), 3)
        assert garbage.remove()
        assert folder.exists()
        assert not dead.exists()


def test_files_that_vanish_while_they_are_listed_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a judge that saves a checkpoint or ends a session meanwhile."""
    saved = checkpoint_of(tmp_path, unit_prefix(MODEL.id, "drift", "o" * 32), MODEL.id, "cpu")
    saved.save({})
    session = tmp_path / "sessions" / "0011223344556677"
    session.mkdir(parents=True)
    for path in (saved.path.with_name(".gone"), session / "gone"):
        path.write_bytes(b"abc")
    vanish_when_seen(monkeypatch, ".gone", "gone")
    assert [each.name for each in checkpoints(tmp_path, StoreAttempts({}, frozenset()), (), FUTURE)] == [
        str(saved.path)
    ]
    assert [(each.name, each.size_bytes) for each in dead_sessions(tmp_path)] == [(str(session), 0)]


def images() -> list[str]:
    """IDs of all images of the engine."""
    return [each["Id"] for each in docker.from_env().api.images(all=True)]


@pytest.fixture
def image() -> Iterator[str]:
    """The ID of a nameless image of a calculator that this test alone has."""
    client = docker.from_env()
    note = os.urandom(8).hex()
    dockerfile = f"FROM scratch\nLABEL {CALCULATOR_LABEL}=calculator:make_calculator note={note}\n".encode()
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(dockerfile)
        archive.addfile(entry, io.BytesIO(dockerfile))
    context.seek(0)
    built, _ = client.images.build(fileobj=context, custom_context=True, rm=True, forcerm=True)
    try:
        yield str(built.id)
    finally:
        if built.id in images():
            client.images.remove(str(built.id), force=True)


@pytest.mark.docker
def test_a_nameless_image_goes_unless_a_submission_refers_to_it(image: str) -> None:
    """Only the image of this test is removed: others use the engine too."""
    assert image not in [garbage.name for garbage in unreferred_images(lambda: [image])]
    (garbage,) = (each for each in unreferred_images(list) if each.name == image)
    client = docker.from_env()
    user = client.containers.create(image, "never run")
    assert not garbage.remove()  # a container is made of it
    user.remove()
    assert garbage.remove()
    assert image not in images()


@pytest.mark.docker
def test_images_of_no_submission_are_listed_only_where_that_is_asked_for(world: World, image: str) -> None:
    """The engine is shared: they may be those of another store's submissions."""
    world.write_settings(driver="docker")

    def listed(*options: str) -> bool:
        status, answer = world.run_json_here("gc", "--dry-run", *options)
        assert status == 0
        assert isinstance(answer, dict)
        return image in [each["name"] for each in answer["garbage"]]

    assert not listed()
    status, _, err = world.run_here("gc", "--dry-run", "--images")
    assert status == 2
    assert err.count("\n") == 1
    assert "there are no submissions" in err
    world.submit("emt")
    assert not listed()
    assert listed("--images")


@pytest.mark.docker
def test_images_of_the_selftest_go_when_they_are_old(image: str) -> None:
    client = docker.from_env()
    name = f"{SELFTEST_IMAGES.removesuffix('*')}of-test-gc:latest"
    client.images.get(image).tag(name)
    try:
        assert name not in [each.name for each in selftest_images(time.time() - 86400)]
        (garbage,) = (each for each in selftest_images(FUTURE) if each.name == name)
        usage = engine_images(FUTURE)
        assert usage.images >= usage.expired_images >= 1
        assert usage.size_bytes >= garbage.size_bytes
        assert garbage.remove()
        assert not client.api.images(name=name)
    finally:
        if client.api.images(name=name):
            client.images.remove(name)

"""Finds garbage on this machine: files of dead judges in the run directory, and old images of the Docker engine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import docker

from judge.evaluation.checkpoint_file import checkpoint_of
from judge.records.attempts import submission_of
from judge.upkeep.gc import Garbage, GarbageKind, StoreAttempts, files_under, remove_file, with_status
from sandbox.drivers.docker_driver import connect_engine
from sandbox.drivers.docker_running import engine_faults
from sandbox.image.image_check import CALCULATOR_LABEL
from sandbox.rundir import RunDir
from sandbox.verdict import JudgeFault

SELFTEST_IMAGES = "lambench-selftest/*"


def checkpoints(
    run_dir: Path, attempts: StoreAttempts, hardware: Collection[str], oldest: float
) -> tuple[Garbage, ...]:
    """The checkpoints of units with a verdict, and those older than `oldest` whose judge is not alive.

    Args:
        hardware: classes of hardware on which attempts may have been observed.
        oldest: seconds since the epoch.
    """
    over = {
        checkpoint_of(run_dir, prefix, submission_of(prefix), each).path.name
        for prefix, history in attempts.histories.items()
        if history.end
        for each in hardware
    }
    # The name of a checkpoint does not show its unit, only its submission.
    living = tuple(submission_of(prefix) + "-" for prefix in attempts.living)
    garbage = []
    for path, status in with_status(sorted((run_dir / "checkpoints").glob("*"))):
        # `.NAME.TOKEN` was left by a judge that was killed while it saved.
        name = path.name[1:].rpartition(".")[0] if path.name.startswith(".") else path.name
        if name in over or (status.st_mtime < oldest and not name.startswith(living)):
            garbage.append(Garbage(GarbageKind.CHECKPOINT, str(path), status.st_size, partial(remove_file, path)))
    return tuple(garbage)


def dead_sessions(run_dir: Path) -> tuple[Garbage, ...]:
    """The session folders of dead judges.

    Raises:
        JudgeFault: the run directory cannot be used.
    """
    if not run_dir.is_dir():
        return ()
    return tuple(
        Garbage(GarbageKind.SESSION, str(folder), _tree_size(folder), partial(_remove_folder, folder))
        for folder in RunDir(run_dir).left_sessions()
    )


def _remove_folder(folder: Path) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def unreferred_images(referred: Callable[[], Collection[str]]) -> tuple[Garbage, ...]:
    """The unnamed images of calculators that no submission of this store refers to.

    The engine knows no stores: images of another store's submissions are among them.

    Args:
        referred: gives the image IDs of all submissions; called after the images were listed.

    Raises:
        JudgeFault: no engine answers.
    """
    client = connect_engine()
    with engine_faults():  # the raw list does not fail if an image is removed meanwhile
        nameless = client.api.images(filters={"dangling": True, "label": CALCULATOR_LABEL})
    kept = set(referred())
    return _as_garbage(client, {image["Id"]: image for image in nameless if image["Id"] not in kept})


def selftest_images(oldest: float) -> tuple[Garbage, ...]:
    """The images of the selftest made before `oldest`. The next selftest builds its images again.

    Args:
        oldest: seconds since the epoch.

    Raises:
        JudgeFault: no engine answers.
    """
    client = connect_engine()
    with engine_faults():
        hostile = client.api.images(filters={"reference": SELFTEST_IMAGES})
    old = {name: image for image in hostile if image["Created"] < oldest for name in image["RepoTags"] or ()}
    return _as_garbage(client, old)


class EngineImages(NamedTuple):
    """The images of calculators and of the selftest on this machine's engine.

    Args:
        size_bytes: of all; a layer that several images share counts for each.
        oldest: when the first of them was made [s since 1970]; None if there is none.
        expired_images: how many of the selftest's `judge gc` removes.
    """

    images: int
    size_bytes: int
    oldest: float | None
    expired_images: int
    expired_bytes: int


def engine_images(oldest: float) -> EngineImages:
    """The images that the judge uses on this machine.

    Args:
        oldest: seconds since the epoch; images of the selftest that are older expire.

    Raises:
        JudgeFault: no engine answers.
    """
    client = connect_engine()
    with engine_faults():
        calculators = client.api.images(filters={"label": CALCULATOR_LABEL})
        hostile = client.api.images(filters={"reference": SELFTEST_IMAGES})
    images = {image["Id"]: image for image in (*calculators, *hostile)}.values()  # each once, whatever its names
    sizes, times = [int(image["Size"]) for image in images], [float(image["Created"]) for image in images]
    old = {image["Id"]: int(image["Size"]) for image in hostile if image["Created"] < oldest}
    return EngineImages(len(images), sum(sizes), min(times, default=None), len(old), sum(old.values()))


def _as_garbage(client: docker.DockerClient, images: Mapping[str, Mapping[str, object]]) -> tuple[Garbage, ...]:
    """Garbage from the engine's images, by the name with which they are removed."""
    return tuple(
        Garbage(GarbageKind.IMAGE, name, int(str(image["Size"])), partial(_remove_image, client, name))
        for name, image in sorted(images.items())
    )


def _remove_image(client: docker.DockerClient, name: str) -> bool:
    try:
        with engine_faults():
            client.images.remove(name)
    except JudgeFault:  # a container runs it, or an image builds on it
        return False
    return True


def _tree_size(folder: Path) -> int:
    return sum(status.st_size for _, status in files_under(folder))

"""A session of the Docker driver with small limits."""

from __future__ import annotations

import io
from collections.abc import Callable

from ase.build import bulk

from sandbox.driver import Image, Question
from sandbox.drivers.docker_driver import DockerDriver, connect_engine
from sandbox.limits import MIB, Limits
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome, run_session
from tasks.structures.frames import Frames

LIMITS = Limits(memory_bytes=512 * MIB, tmp_bytes=64 * MIB, startup_s=30, message_s=5, task_s=30, cpus=1)
Build = Callable[[str], Image]


def ask(remote: RemoteCalculator) -> str:
    frames = Frames.from_atoms([bulk("Cu")])
    answer = remote.compute(frames, remote.properties)
    return "ok" if answer.ok.all() else f"failed: {answer.failure}"


def judged(driver: DockerDriver, image: Image, limits: Limits = LIMITS, body: Callable = ask) -> SessionOutcome:
    return run_session(driver, image, limits, Question(), body)


def labelled(base: str, *instructions: str) -> str:
    """A tag of an image made from `base` by a few Dockerfile lines."""
    tag = "lambench-test/labelled:latest"
    dockerfile = io.BytesIO("\n".join([f"FROM {base}", *instructions]).encode())
    connect_engine().images.build(fileobj=dockerfile, tag=tag, rm=True)
    return tag

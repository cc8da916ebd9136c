"""No canary of a hidden data set gets out of a container."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import pytest

from sandbox.drivers.docker_driver import DockerDriver
from sandbox.rundir import RunDir
from tests.judge.disclosure.hidden_world import hidden_world, ids, rendered
from tests.judge.disclosure.leaks import HOSTILE, NAMES, NUMBERS, PUBLIC, needles_below, needles_in
from tests.world.world import World


@pytest.mark.docker
@pytest.mark.slow
def test_nothing_gets_out_of_a_container(engine: docker.DockerClient, images: docker.DockerClient) -> None:
    tags = []
    try:
        with TemporaryDirectory(prefix="lj") as folder:
            world = hidden_world(Path(folder), "docker")
            for name in ("prints", "raises", "ends-with-a-number"):
                tags.append(build(engine, world, name))
                world.record(name, DockerDriver(RunDir(world.root / "run")).resolve(tags[-1]))
            status, out, err = world.run_here("evaluate", "--all")
            assert status == 0, out + err
            assert {str(result.verdict) for result in world.results()} >= {"OK", "TOO_MANY_FAILURES", "CRASHED"}
            for data in rendered(world).values():
                assert needles_in(data, PUBLIC) == []
            assert needles_below(world.root / "store" / "attempts", NUMBERS | NAMES) == {}
            assert needles_below(world.root / "store" / "submissions", PUBLIC) == {}
            assert needles_in(world.settings.log.read_bytes() + (out + err).encode(), NUMBERS | NAMES) == []
            for submission in ids(world):
                _, shown = world.run_json_here("show", submission, "--author")
                assert needles_in(json.dumps(shown).encode(), PUBLIC) == []
    finally:
        for tag in tags:
            engine.images.remove(tag, force=True)


def build(engine: docker.DockerClient, world: World, name: str) -> str:
    """An image of a hostile submission."""
    folder = world.folder(name, HOSTILE[name])
    (folder / "Dockerfile").write_text(
        "FROM lambench/calculator:latest\nCOPY calculator.py /model/\nWORKDIR /model\n"
        'LABEL org.lambench.calculator="calculator:make_calculator"\n'
    )
    tag = f"lambench-test/canary-{name}:{os.getpid()}"
    engine.images.build(path=str(folder), tag=tag, rm=True)
    return tag

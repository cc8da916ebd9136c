"""Images that the Docker driver refuses or cannot start, and one that brings its own server."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from sandbox.drivers.docker_driver import DockerDriver, connect_engine
from sandbox.verdict import SubmissionFault, Verdict
from sandbox.wire.remote import RemoteCalculator
from tasks.structures.frames import Frames
from tests.sandbox.drivers.docker_sessions import Build, judged, labelled

pytestmark = pytest.mark.docker


def test_a_missing_module_is_told(docker_driver: DockerDriver, hostile_image: Build) -> None:
    base = hostile_image("honest").reference
    image = docker_driver.resolve(labelled(base, 'LABEL org.lambench.calculator="absent:make"'))
    outcome = judged(docker_driver, image)
    assert outcome.verdict is Verdict.STARTUP_FAILED
    assert "There is no such module as the label" in outcome.sentence


@pytest.mark.parametrize(
    ("instruction", "verdict"),
    [
        ('LABEL org.lambench.calculator=""', Verdict.IMAGE_INVALID),
        ("ENV LD_PRELOAD=/tmp/x.so", Verdict.POLICY_VIOLATION),
        ("ENV NVIDIA_VISIBLE_DEVICES=all", Verdict.POLICY_VIOLATION),
        ("VOLUME /data", Verdict.POLICY_VIOLATION),
    ],
)
def test_refused_images(docker_driver, hostile_image: Build, instruction: str, verdict: Verdict) -> None:
    with pytest.raises(SubmissionFault) as caught:
        docker_driver.resolve(labelled(hostile_image("honest").reference, instruction))
    assert caught.value.verdict is verdict


def test_an_image_without_python_is_told(docker_driver: DockerDriver, hostile_image: Build) -> None:
    base = hostile_image("honest").reference
    image = docker_driver.resolve(labelled(base, """LABEL org.lambench.python='["/opt/conda/bin/python"]'"""))
    outcome = judged(docker_driver, image)
    assert outcome.verdict is Verdict.IMAGE_INVALID
    assert "org.lambench.python" in outcome.sentence


@pytest.mark.parametrize("reference", ["lambench-test/absent:latest", "No Such Name", "sha256:" + "0" * 64])
def test_an_image_that_does_not_exist(docker_driver: DockerDriver, reference: str) -> None:
    with pytest.raises(SubmissionFault) as caught:
        docker_driver.resolve(reference)
    assert caught.value.verdict is Verdict.IMAGE_INVALID


def foreign_archive() -> bytes:
    """An image of another architecture, as `docker save` writes one."""
    buffer = io.BytesIO()
    config = {"architecture": "s390x", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": []}}
    files = {
        "config.json": json.dumps(config).encode(),
        "manifest.json": json.dumps(
            [{"Config": "config.json", "RepoTags": ["lambench-test/foreign:latest"], "Layers": []}]
        ).encode(),
    }
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def test_an_image_of_another_architecture(docker_driver: DockerDriver) -> None:
    connect_engine().images.load(foreign_archive())
    with pytest.raises(SubmissionFault, match="s390x") as caught:
        docker_driver.resolve("lambench-test/foreign:latest")
    assert caught.value.verdict is Verdict.IMAGE_INVALID


def test_an_image_may_bring_its_own_server(docker_driver: DockerDriver) -> None:
    tag = "lambench-test/own-server:latest"
    connect_engine().images.build(path=str(Path(__file__).parents[1] / "own_server"), tag=tag, rm=True)
    frames = Frames.from_atoms([bulk("Cu", cubic=True), Atoms("H2", [(0, 0, 0.25), (0, 0, 1)])])

    def compute(remote: RemoteCalculator) -> tuple[list[float], np.ndarray | None, float]:
        answer = remote.compute(frames, remote.properties)
        return answer.energy.tolist(), answer.forces, remote.echo(100)

    outcome = judged(docker_driver, docker_driver.resolve(tag), body=compute)
    assert outcome.verdict is Verdict.OK, outcome
    energy, forces, _ = outcome.value
    assert energy == pytest.approx([float(frames.atoms(0).positions.sum()), 1.25])
    assert forces is not None
    assert (forces == -1.0).all()


@pytest.mark.parametrize("folder", ["/etc/passwd", "/etc/passwd/x"])
def test_an_image_whose_folder_cannot_be_entered_is_told(docker_driver, hostile_image: Build, folder: str) -> None:
    base = hostile_image("honest").reference
    client = connect_engine()
    made = client.containers.create(base, command=["true"])
    try:  # not by a Dockerfile: its WORKDIR makes the folder
        made.commit("lambench-test/no-way-in", "latest", conf={"WorkingDir": folder})
    finally:
        made.remove()
    outcome = judged(docker_driver, docker_driver.resolve("lambench-test/no-way-in:latest"))
    assert outcome.verdict is Verdict.IMAGE_INVALID, outcome
    assert "WORKDIR" in outcome.sentence

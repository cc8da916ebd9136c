"""The Docker driver: each restriction, by `docker inspect` and from inside; each verdict, by an image that earns it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

from sandbox.driver import Image, Question
from sandbox.drivers.docker_driver import LOCK_LABEL, RUN_DIR_LABEL, DockerDriver, connect_engine
from sandbox.limits import MIB, Limits
from sandbox.rundir import RunDir
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome, run_session
from tasks.structures.frames import Frames

pytestmark = pytest.mark.docker

LIMITS = Limits(memory_bytes=512 * MIB, tmp_bytes=64 * MIB, startup_s=30, message_s=5, task_s=30, cpus=1)
Build = Callable[[str], Image]


def ask(remote: RemoteCalculator) -> str:
    frames = Frames.from_atoms([bulk("Cu")])
    answer = remote.compute(frames, remote.properties)
    return "ok" if answer.ok.all() else f"failed: {answer.failure}"


def judged(driver: DockerDriver, image: Image, limits: Limits = LIMITS, body: Callable = ask) -> SessionOutcome:
    return run_session(driver, image, limits, Question(), body)


def test_an_honest_image_is_judged(docker_driver: DockerDriver, hostile_image: Build) -> None:
    outcome = judged(docker_driver, hostile_image("honest"))
    assert outcome.verdict is Verdict.OK
    assert outcome.value == "ok"
    assert outcome.memory_bytes is None or 16 * MIB < outcome.memory_bytes < LIMITS.memory_bytes


@pytest.mark.parametrize(
    ("factory", "verdict", "clue"),
    [
        ("raises", Verdict.STARTUP_FAILED, "factory raised"),
        ("needs_root", Verdict.STARTUP_FAILED, "needs root"),
        ("writes_root", Verdict.STARTUP_FAILED, "/tmp only"),
        ("reads_weights", Verdict.STARTUP_FAILED, "readable by anyone"),
        ("exits", Verdict.STARTUP_FAILED, "exit status 0"),
        ("garbage", Verdict.PROTOCOL_ERROR, "not of the protocol"),
        ("flood", Verdict.OUTPUT_LIMIT, "More was sent"),
        ("dies", Verdict.CRASHED, "killed"),
        ("hangs", Verdict.TIME_LIMIT, "One batch took longer"),
    ],
)
def test_verdicts(docker_driver, hostile_image: Build, factory: str, verdict: Verdict, clue: str) -> None:
    outcome = judged(docker_driver, hostile_image(factory))
    assert outcome.verdict is verdict, outcome
    assert clue in outcome.sentence


def test_a_slow_start_is_ended(docker_driver: DockerDriver, hostile_image: Build) -> None:
    outcome = judged(docker_driver, hostile_image("sleeps"), Limits(startup_s=1))
    assert outcome.verdict is Verdict.STARTUP_TIMEOUT


def labelled(base: str, *instructions: str) -> str:
    """A tag of an image made from `base` by a few Dockerfile lines."""
    tag = "lambench-test/labelled:latest"
    dockerfile = io.BytesIO("\n".join([f"FROM {base}", *instructions]).encode())
    connect_engine().images.build(fileobj=dockerfile, tag=tag, rm=True)
    return tag


def test_a_missing_module_is_told(docker_driver: DockerDriver, hostile_image: Build) -> None:
    base = hostile_image("honest").reference
    image = docker_driver.resolve(labelled(base, 'LABEL org.lambench.calculator="absent:make"'))
    outcome = judged(docker_driver, image)
    assert outcome.verdict is Verdict.STARTUP_FAILED
    assert "not in the image" in outcome.sentence


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


def test_restrictions_as_the_engine_sees_them(docker_driver: DockerDriver, hostile_image: Build) -> None:
    client = connect_engine()

    def inspect(remote: RemoteCalculator) -> dict:
        mine = [c for c in client.containers.list() if c.labels.get(LOCK_LABEL) == docker_driver.run_dir.token]
        return client.api.inspect_container(mine[0].id)

    image = hostile_image("honest")
    seen = judged(docker_driver, image, body=inspect).value
    host, config = seen["HostConfig"], seen["Config"]
    assert seen["Image"] == image.id
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["IpcMode"] == "private"
    assert host["Init"] is True
    assert host["Privileged"] is False
    assert host["PidsLimit"] == LIMITS.pids
    assert host["Memory"] == host["MemorySwap"] == LIMITS.memory_bytes
    assert len(host["CpusetCpus"].split(",")) == 1
    assert host["ShmSize"] == LIMITS.shm_bytes
    assert set(host["Tmpfs"]) == {"/tmp"}
    assert f"size={LIMITS.tmp_bytes}" in host["Tmpfs"]["/tmp"]
    assert {(u["Name"], u["Hard"]) for u in host["Ulimits"]} == {("nofile", LIMITS.open_files), ("core", 1)}
    assert host["LogConfig"]["Type"] == "local"
    assert [(m["Destination"], m["RW"]) for m in seen["Mounts"] if m["Type"] != "tmpfs"] == [("/lambench", False)]
    assert not host["Devices"]
    assert not host["DeviceRequests"]
    assert config["User"] == "65534:65534"
    assert config["Healthcheck"]["Test"] == ["NONE"]
    assert "NVIDIA_VISIBLE_DEVICES=void" in config["Env"]


INSIDE = {
    "uid": 65534,
    "gid": 65534,
    "writes /model": 0,
    "writes /etc": 0,
    "writes /lambench": 0,
    "writes /tmp": 1,
    "writes /dev/shm": 1,
    "capabilities": 0,
    "no new privileges": 1,
    "seccomp filter": 2,
    "network interfaces": 1,
    "reaches the metadata address": 0,
    "reaches the bridge": 0,
    "core limit": 1,
    "open files": LIMITS.open_files,
    "runs a program in /tmp": 7,
    "sees the engine's socket": 0,
    "home is /tmp": 1,
    "sees the judge's environment": 0,
    "reads /root": 0,
}


def test_restrictions_as_a_submission_sees_them(docker_driver, hostile_image: Build, monkeypatch) -> None:
    monkeypatch.setenv("JUDGE_SECRET", "a secret of the judge's environment")
    questions = [Atoms("H" * n, np.arange(3.0 * n).reshape(n, 3)) for n in range(1, len(INSIDE) + 1)]

    def look(remote: RemoteCalculator) -> list[float]:
        return remote.compute(Frames.from_atoms(questions), ("energy", "forces")).energy.tolist()

    answers = judged(docker_driver, hostile_image("look_around"), body=look).value
    assert dict(zip(INSIDE, map(int, answers), strict=True)) == INSIDE


def test_containers_of_dead_judges_are_reaped_and_of_living_ones_not(docker_driver, hostile_image: Build) -> None:
    image = hostile_image("honest")
    code = (
        "import os, sys; from pathlib import Path; from sandbox.drivers.open_driver import open_driver;"
        "from sandbox.driver import Question; from sandbox.limits import Limits;"
        "from sandbox.wire.session import run_session;"
        "d = open_driver('docker', Path(sys.argv[1]));"
        "run_session(d, d.resolve(sys.argv[2]), Limits(), Question(), lambda r: os.kill(os.getpid(), 9))"
    )
    root = docker_driver.run_dir.root
    client = connect_engine()

    def mine() -> list[str]:
        return [
            c.labels[LOCK_LABEL] for c in client.containers.list(all=True, filters={"label": f"{RUN_DIR_LABEL}={root}"})
        ]

    def meanwhile(remote: RemoteCalculator) -> int:
        subprocess.run([sys.executable, "-c", code, str(root), image.reference], check=False)
        assert len([token for token in mine() if docker_driver.run_dir.dead(token)]) == 1
        removed = docker_driver.reap()
        assert docker_driver.run_dir.token in mine()
        assert ask(remote) == "ok"
        return removed

    assert judged(docker_driver, image, body=meanwhile).value == 1
    assert docker_driver.run_dir.token not in mine()


def test_a_judge_with_another_run_directory_is_left_alone(docker_driver, hostile_image: Build, tmp_path) -> None:
    stranger = DockerDriver(RunDir(tmp_path))

    def meanwhile(remote: RemoteCalculator) -> str:
        assert stranger.reap() == 0
        return ask(remote)

    assert judged(docker_driver, hostile_image("honest"), body=meanwhile).value == "ok"


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


def test_a_gpu_that_is_not_there_is_the_judges_fault(docker_driver: DockerDriver, hostile_image: Build) -> None:
    question = Question(device="cuda", gpu="GPU-00000000-0000-0000-0000-000000000000")
    with pytest.raises(JudgeFault) as caught:
        run_session(docker_driver, hostile_image("honest"), LIMITS, question, ask)
    assert caught.value.cause is FaultCause.GPU


def test_the_engines_own_disk_is_among_those_looked_at(docker_driver: DockerDriver) -> None:
    root = Path(connect_engine().info()["DockerRootDir"])
    assert docker_driver.disks == ((root,) if root.is_dir() else ())


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


def test_a_runtime_that_is_not_there_is_the_judges_fault(run_dir, hostile_image: Build) -> None:
    with pytest.raises(JudgeFault, match="nosuch") as caught:
        judged(DockerDriver(run_dir, "nosuch"), hostile_image("honest"))
    assert caught.value.cause is FaultCause.DOCKER


def test_an_engine_that_does_not_answer_is_the_judges_fault(run_dir, monkeypatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///tmp/no-engine-listens-here.sock")
    with pytest.raises(JudgeFault, match="start it"):
        DockerDriver(run_dir)

"""Each restriction of a container, by `docker inspect` and from inside; and which containers are removed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from ase import Atoms

from sandbox.drivers.docker_driver import LOCK_LABEL, RUN_DIR_LABEL, DockerDriver, connect_engine
from sandbox.drivers.masked_paths import masked_paths
from sandbox.drivers.seccomp_profile import seccomp_profile
from sandbox.rundir import RunDir
from sandbox.wire.remote import RemoteCalculator
from tasks.structures.frames import Frames
from tests.sandbox.drivers.docker_sessions import LIMITS, Build, ask, judged

pytestmark = pytest.mark.docker


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
    assert host["SecurityOpt"] == ["no-new-privileges", f"seccomp={seccomp_profile()}"]
    assert host["MaskedPaths"] == masked_paths(gpu=False)
    assert host["ReadonlyPaths"] == ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
    assert host["IpcMode"] == "private"
    assert host["CgroupnsMode"] == "private"
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


def test_containers_of_dead_judges_are_reaped_and_of_living_ones_not(run_dir: RunDir, hostile_image: Build) -> None:
    docker_driver, image = DockerDriver(run_dir, cold_start="off"), hostile_image("honest")
    code = (
        "import os, sys; from pathlib import Path; from sandbox.drivers.open_driver import open_driver;"
        "from sandbox.driver import Question; from sandbox.limits import Limits;"
        "from sandbox.wire.session import run_session;"
        "d = open_driver('docker', Path(sys.argv[1]), cold_start='off');"
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

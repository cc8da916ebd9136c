"""Engines that cannot limit containers are refused in one line; a host says what it offers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import docker
import pytest

from sandbox.driver import Image, Question
from sandbox.drivers.docker_driver import container_options
from sandbox.drivers.engine_report import engine_words, require_limits
from sandbox.drivers.host_report import cdi_kinds, host_report
from sandbox.drivers.podman import podman_options
from sandbox.limits import Limits
from sandbox.verdict import FaultCause, JudgeFault

# What Podman 4.3.1 reports over Docker's API, run by a user without root on a host with cgroup v1.
ROOTLESS_PODMAN = {
    "MemoryLimit": True,
    "PidsLimit": True,
    "CPUSet": True,
    "CgroupDriver": "cgroupfs",
    "CgroupVersion": "1",
    "SecurityOptions": ["name=seccomp,profile=default"],
    "Rootless": True,
}
ROOTLESS_DOCKER = {
    "CgroupDriver": "none",
    "CgroupVersion": "2",
    "SecurityOptions": ["name=seccomp", "name=rootless"],
}


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (ROOTLESS_PODMAN, r"rootless engine \(cgroup v1, manager cgroupfs\) cannot limit"),
        (ROOTLESS_DOCKER, r"rootless engine \(cgroup v2, manager none\) cannot limit"),
        ({"MemoryLimit": False, "PidsLimit": False, "CPUSet": True}, "cannot limit the memory and processes of"),
    ],
)
def test_an_engine_that_cannot_limit_containers_is_refused(info: dict[str, Any], words: str) -> None:
    with pytest.raises(JudgeFault, match=words) as caught:
        require_limits(info)
    assert caught.value.cause is FaultCause.DOCKER
    assert "\n" not in caught.value.remedy


def test_a_rootless_engine_below_systemd_is_taken() -> None:
    require_limits({**ROOTLESS_PODMAN, "CgroupVersion": "2", "CgroupDriver": "systemd"})


def test_a_selftest_as_root_does_not_count_for_the_same_engine_without() -> None:
    as_root = engine_words({**ROOTLESS_PODMAN, "Rootless": False}, {}, None)
    assert engine_words(ROOTLESS_PODMAN, {}, None) == as_root.replace(")", ", rootless)") != as_root


@pytest.mark.docker
def test_the_engine_here_can_limit_containers(engine: docker.DockerClient) -> None:
    require_limits(engine.info())
    report = host_report()
    assert f"engine {engine.version()['Version']} as root" in report
    assert "runc" in report
    version = 2 if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else 1
    assert f"cgroup v{version}" in report


def test_a_gpu_is_not_asked_of_podman(tmp_path: Path) -> None:
    """Podman 4.3 would create the container without it."""
    image = Image("m:1", "sha256:0", "docker", calculator="a:b")
    options = container_options(image, Limits(cpus=1), Question(device="cuda", gpu="GPU-aaaa"), tmp_path)
    with pytest.raises(JudgeFault, match="use Docker for GPUs") as caught:
        podman_options(options, tmp_path)
    assert caught.value.cause is FaultCause.GPU


def test_cdi_files_are_found_by_their_kind(tmp_path: Path) -> None:
    assert cdi_kinds((tmp_path, tmp_path / "none")) == []
    (tmp_path / "a.json").write_text(json.dumps({"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": []}))
    (tmp_path / "b.yaml").write_text("---\ncdiVersion: 0.5.0\nkind: vendor.example/nic\n")
    (tmp_path / "c.yaml").write_text("nothing: of this sort\n")
    (tmp_path / "d.json").mkdir()
    assert cdi_kinds((tmp_path,)) == ["nvidia.com/gpu", "vendor.example/nic"]

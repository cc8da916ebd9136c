"""Which files of /proc and /sys are masked, and how the two engines are told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import sandbox.drivers.masked_paths
from sandbox.driver import Image, Question
from sandbox.drivers.docker_driver import container_options
from sandbox.drivers.masked_paths import STATED, masked_paths
from sandbox.drivers.podman import podman_options
from sandbox.drivers.seccomp_profile import seccomp_profile
from sandbox.limits import Limits

# What numpy, OpenMP, PyTorch and psutil read.
NEEDED = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/self/status")
TOPOLOGY = ("/sys/devices/system/cpu/possible", "/sys/devices/system/node/node0/cpulist", "/sys/fs/cgroup/memory.max")


def is_masked(path: str, paths: list[str]) -> bool:
    return any(path == masked or path.startswith(f"{masked}/") for masked in paths)


@pytest.mark.parametrize("gpu", [False, True])
def test_what_is_stated_is_masked_and_what_libraries_need_is_not(gpu: bool) -> None:
    paths = masked_paths(gpu=gpu)
    assert paths == sorted(set(paths))
    assert all(is_masked(path, paths) for path in STATED)
    assert not [path for path in (*NEEDED, *TOPOLOGY) if is_masked(path, paths)]


def test_a_file_that_a_newer_kernel_adds_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"/proc": ["1", "new_counters", "stat"], "/sys": ["devices", "new"], "/sys/devices": ["system", "pci"]}
    monkeypatch.setattr(sandbox.drivers.masked_paths, "_entries", lambda folder: listed.get(folder, []))
    new = set(masked_paths(gpu=False)) - set(STATED)
    assert new == {"/proc/new_counters", "/sys/new", "/sys/devices/pci"}


def test_the_devices_of_a_gpu_are_not_masked() -> None:
    paths = masked_paths(gpu=True)
    needed = ("/proc/devices", "/proc/driver/nvidia", "/proc/modules", "/sys/bus/pci/devices", "/sys/module/nvidia")
    assert not [path for path in (*needed, "/sys/devices/pci0000:00") if is_masked(path, paths)]
    assert is_masked("/sys/bus", masked_paths(gpu=False))


def test_podman_gets_the_profile_as_a_file_and_the_paths_as_an_option(tmp_path: Path) -> None:
    image = Image(reference="a:1", id="sha256:0", driver="docker")
    options = container_options(image, Limits(), Question(), tmp_path)
    changed = podman_options(options, tmp_path)
    privileges, profile, masks = changed["security_opt"]
    assert privileges == "no-new-privileges"
    assert profile == f"seccomp={tmp_path}/seccomp.json"
    assert json.loads((tmp_path / "seccomp.json").read_text()) == json.loads(seccomp_profile())
    assert masks.removeprefix("mask=").split(":") == [path for path in masked_paths(gpu=False) if ":" not in path]
    assert "masked_paths" not in changed
    assert os.listdir(tmp_path) == ["seccomp.json"]

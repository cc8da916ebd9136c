"""Which images may be judged, from their configuration alone."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import docker.errors
import pytest
import requests

import sandbox.drivers.engine_report
from sandbox.drivers.docker_running import engine_faults
from sandbox.drivers.engine_report import engine_words
from sandbox.drivers.gpu import parse_gpus, require_gpus, still_has_gpu
from sandbox.drivers.seccomp_profile import seccomp_version
from sandbox.image.image_check import image_from_inspection
from sandbox.image.start_faults import start_fault
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict

GOOD: dict[str, Any] = {
    "Id": "sha256:" + "a" * 64,
    "Os": "linux",
    "Architecture": "amd64",
    "Size": 10,
    "RepoDigests": [],
    "Config": {"Labels": {"org.lambench.calculator": "model:make"}, "Env": ["PATH=/bin"], "Volumes": None},
}


def changed(**config) -> dict:
    inspection = copy.deepcopy(GOOD)
    inspection["Config"].update(config)
    return inspection


def test_a_good_image() -> None:
    image = image_from_inspection("a:b", GOOD, "amd64")
    assert image.calculator == "model:make"
    assert image.python == ("python3",)


def test_python_in_conda() -> None:
    labels = {"org.lambench.calculator": "m:f", "org.lambench.python": '["conda", "run", "python"]'}
    assert image_from_inspection("a", changed(Labels=labels), "amd64").python == ("conda", "run", "python")


def test_libraries_of_cuda_are_allowed() -> None:
    environment = [
        "LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/usr/local/cuda-12.4/lib64",
        "LD_PRELOAD=",
    ]
    assert image_from_inspection("a", changed(Env=environment), "amd64")


@pytest.mark.parametrize(
    ("config", "verdict", "clue"),
    [
        ({"Labels": None}, Verdict.IMAGE_INVALID, "org.lambench.calculator"),
        ({"Labels": {"org.lambench.calculator": "no factory"}}, Verdict.IMAGE_INVALID, "module:factory"),
        ({"Labels": {"org.lambench.calculator": "os:system;x"}}, Verdict.IMAGE_INVALID, "module:factory"),
        (
            {"Labels": {"org.lambench.calculator": "m:f", "org.lambench.python": "python"}},
            Verdict.IMAGE_INVALID,
            "JSON list",
        ),
        ({"Labels": {"org.lambench.protocol": "9"}}, Verdict.IMAGE_INVALID, "protocol 1"),
        ({"Env": ["LD_PRELOAD=/x.so"]}, Verdict.POLICY_VIOLATION, "LD_PRELOAD="),
        ({"Env": ["LD_LIBRARY_PATH=/opt/x"]}, Verdict.POLICY_VIOLATION, "LD_LIBRARY_PATH"),
        ({"Env": ["LD_LIBRARY_PATH=/usr/local/cuda/../../x"]}, Verdict.POLICY_VIOLATION, "LD_LIBRARY_PATH"),
        ({"Env": ["NVIDIA_VISIBLE_DEVICES=all"]}, Verdict.POLICY_VIOLATION, "NVIDIA_VISIBLE_DEVICES="),
        ({"Env": ["LD_PRELOAD=/x.so", "LD_PRELOAD="]}, Verdict.POLICY_VIOLATION, "LD_PRELOAD="),
        ({"Env": ["LD_AUDIT=/x.so"]}, Verdict.POLICY_VIOLATION, "LD_AUDIT="),
        ({"Env": ["GLIBC_TUNABLES=glibc.malloc.check=3"]}, Verdict.POLICY_VIOLATION, "GLIBC_TUNABLES="),
        ({"Volumes": {"/data": {}}}, Verdict.POLICY_VIOLATION, "/data"),
        ({"Volumes": {"/tmp//v": {}}}, Verdict.POLICY_VIOLATION, "VOLUME"),
        ({"Volumes": {"/tmp/v/": {}}}, Verdict.POLICY_VIOLATION, "VOLUME"),
        ({"Volumes": {f"/tmp/{i}": {} for i in range(17)}}, Verdict.POLICY_VIOLATION, "VOLUME"),
        ({"WorkingDir": "model"}, Verdict.IMAGE_INVALID, "WORKDIR"),
        ({"WorkingDir": "/x/../lambench/sub"}, Verdict.IMAGE_INVALID, "WORKDIR"),
        ({"WorkingDir": "//lambench"}, Verdict.IMAGE_INVALID, "WORKDIR"),
        ({"WorkingDir": "/sys/x"}, Verdict.IMAGE_INVALID, "not below /lambench, /proc, /sys, /dev"),
        ({"WorkingDir": "/proc"}, Verdict.IMAGE_INVALID, "WORKDIR"),
        ({"WorkingDir": "/ä" * 400}, Verdict.IMAGE_INVALID, "too long"),
        ({"WorkingDir": "/" + "a" * 256}, Verdict.IMAGE_INVALID, "too long"),
        ({"Env": ["A=b", "=x"]}, Verdict.IMAGE_INVALID, "without a name"),
        ({"Env": [""]}, Verdict.IMAGE_INVALID, "without a name"),
        ({"Env": ["A=\0"]}, Verdict.IMAGE_INVALID, "zero byte"),
        ({"Volumes": {"/tmp/a\0b": {}}}, Verdict.IMAGE_INVALID, "zero byte"),
        ({"User": "me\0"}, Verdict.IMAGE_INVALID, "zero byte"),
        ({"WorkingDir": "/a\0"}, Verdict.IMAGE_INVALID, "zero byte"),
        ({"Healthcheck": {"Test": ["CMD", "\0"]}}, Verdict.IMAGE_INVALID, "zero byte"),
        ({"Volumes": {"/tmp/" + 100 * "ä" + "/" + 50 * "ä": {}}}, Verdict.POLICY_VIOLATION, "VOLUME"),
        ({"Volumes": {"/tmp/\ud800": {}}}, Verdict.POLICY_VIOLATION, "VOLUME"),
        ({"Labels": {"org.lambench.protocol": "1"}}, Verdict.IMAGE_INVALID, "ENTRYPOINT"),
        ({"Labels": {"org.lambench.calculator": "m:f\n"}}, Verdict.IMAGE_INVALID, "module:factory"),
        ({"Volumes": {"/tmp/../data": {}}}, Verdict.POLICY_VIOLATION, "VOLUME"),
    ],
)
def test_refused_configurations(config: dict, verdict: Verdict, clue: str) -> None:
    with pytest.raises(SubmissionFault, match=clue) as caught:
        image_from_inspection("a", changed(**config), "amd64")
    assert caught.value.verdict is verdict


def test_another_architecture() -> None:
    with pytest.raises(SubmissionFault, match="--platform linux/arm64") as caught:
        image_from_inspection("a", GOOD, "arm64")
    assert caught.value.verdict is Verdict.IMAGE_INVALID


# The form of this listing is documented in nvidia-smi(1).
LISTING = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-4c8a2a51-0a02-3b1c-9a4c-aaaaaaaaaaaa)
  MIG 1g.10gb     Device  0: (UUID: MIG-b5b6b6b6-1111-2222-3333-bbbbbbbbbbbb)
"""


def test_gpus_are_named_by_uuid() -> None:
    gpus = parse_gpus(LISTING)
    assert [g.uuid.split("-")[0] for g in gpus] == ["GPU", "MIG"]
    assert "H100" in gpus[0].name


def test_an_absent_gpu_is_the_judges_fault_and_never_the_cpu() -> None:
    with pytest.raises(JudgeFault, match="name another UUID"):
        require_gpus(["GPU-00000000-0000-0000-0000-000000000000"])


@pytest.mark.parametrize(
    ("listing", "status", "present"),
    [
        (LISTING, 0, True),
        (LISTING, 15, True),  # another one is lost
        (LISTING.replace("4c8a2a51", "00000000"), 0, False),
        ("Unable to determine the device handle for GPU0000:01:00.0: Unknown Error", 255, False),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 9, False),
    ],
)
def test_a_gpu_is_there_if_the_driver_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listing: str, status: int, present: bool
) -> None:
    (tmp_path / "listing").write_text(listing)
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/listing\nexit {status}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert still_has_gpu("GPU-4c8a2a51-0a02-3b1c-9a4c-aaaaaaaaaaaa") is present


def engine_error(text: str, status: int = 500) -> docker.errors.APIError:
    """An error of an engine."""
    response = requests.Response()
    response.status_code = status
    return docker.errors.APIError("x", response, text)


RUNC = "failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "
INIT = RUNC + "error during container init: "
MOUNTING = INIT + 'error mounting "/run/lambench/s/14080" to rootfs at '
FILE_NOT_FOLDER = ": unknown: Are you trying to mount a directory onto a file (or vice-versa)? Check if the specified …"
# Most of them as Docker 20.10 with runc 1.1 says them.
OF_THE_IMAGE = [
    "No command specified",
    "Cannot mkdir: /x is not a directory",
    "lstat /var/lib/docker/overlay2/a819/merged/etc/passwd/x: not a directory",
    "OCI runtime create failed: mkdir /lambench/x: read-only file system",
    INIT + "mkdir /lambench/sub: read-only file system: unknown",
    INIT + 'chdir to cwd ("/root") set in config.json failed: permission denied: unknown',
    INIT + 'chdir to cwd ("/opt/nvidia/app") set in config.json failed: permission denied: unknown',
    INIT + 'chdir to cwd ("/no space left on device") set in config.json failed: permission denied: unknown',
    INIT + 'chdir to cwd ("/nvidia-container-cli: device error: x") set in config.json failed: permission denied',
    INIT
    + 'error mounting "tmpfs" to rootfs at "/tmp": mount tmpfs:/tmp (via /proc/self/fd/6), flags: 0xe: not a directory'
    + FILE_NOT_FOLDER,
    "evalSymlinksInScope: too many links in /var/lib/docker/overlay2/131a/merged/loop",
    INIT + 'environment variable name can\'t be empty: "=no space left on device": unknown',
    MOUNTING
    + '"/lambench": "/var/lib/docker/overlay2/51d1/merged/proc/1" cannot be mounted because it is inside /proc',
    MOUNTING + '"/tmp": "/v/merged/proc" cannot be mounted because it is not of type proc: unknown',
    INIT + "error creating device nodes: mknod /var/lib/docker/32eb/merged/dev/null: read-only file system: unknown",
    RUNC + "error closing exec fds: open /proc/self/fd: no such file or directory: unknown",
    RUNC + 'exec: "/etc/passwd": permission denied: unknown',
    RUNC + 'exec: "nothere": executable file not found in $PATH: unknown',
    RUNC + 'exec: "/sbin/docker-init": stat /sbin/docker-init: permission denied: unknown',
]
OF_THE_MACHINE = [
    ("something else", FaultCause.DOCKER),
    ("Unknown runtime specified nosuch", FaultCause.DOCKER),
    ('invalid mount config for type "bind": bind source path does not exist: /run/s', FaultCause.DOCKER),
    ("Requested CPUs are not available - requested 900, available: 0-1", FaultCause.DOCKER),
    ("Minimum memory limit allowed is 6MB", FaultCause.DOCKER),
    ("Decoding seccomp profile failed: invalid character", FaultCause.DOCKER),
    (INIT + "error loading seccomp filter into kernel: invalid argument: unknown", FaultCause.DOCKER),
    (INIT + "write sysctl key net.x: open /proc/sys/net/x: no such file or directory: unknown", FaultCause.DOCKER),
    (
        RUNC + "unable to apply cgroup configuration: mkdir /sys/fs/cgroup/d: permission denied: unknown",
        FaultCause.DOCKER,
    ),
    ("OCI runtime create failed: mkdir /sys/fs/cgroup/d: read-only file system: unknown", FaultCause.DOCKER),
    (MOUNTING + '"/lambench": stat /run/lambench/s/14080: no such file or directory: unknown', FaultCause.DOCKER),
    (INIT + "error creating device nodes: mknod /v/merged/dev/null: operation not permitted", FaultCause.DOCKER),
    (RUNC + 'exec: "/sbin/docker-init": no such file or directory: unknown', FaultCause.DOCKER),
    (
        INIT + "error running hook #0: error running hook: exit status 1, stdout: , stderr: nvidia-container-cli: "
        "mount error: file creation failed: /merged/usr/lib/libcuda.so.1: file exists: unknown",
        FaultCause.DOCKER,
    ),
    (
        INIT + "error running hook #0: error running hook: exit status 1, stdout: , stderr: nvidia-container-cli: "
        "device error: GPU-0: unknown device: unknown",
        FaultCause.GPU,
    ),
    ('could not select device driver "" with capabilities: [[gpu]]', FaultCause.GPU),
    ("failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=GPU-0", FaultCause.GPU),
    ("OCI runtime create failed: write /x: no space left on device", FaultCause.DISK),
    ("mkdir /var/lib/docker/overlay2/ab-init: no space left on device", FaultCause.DISK),
]


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("text", OF_THE_IMAGE)
def test_what_only_an_image_can_cause_is_its_verdict(status: int, text: str) -> None:
    fault = start_fault(engine_error(text, status))
    assert isinstance(fault, SubmissionFault)
    assert fault.verdict is Verdict.IMAGE_INVALID


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize(("text", "cause"), OF_THE_MACHINE)
def test_what_else_keeps_a_container_from_starting_is_this_machines(status: int, text: str, cause: FaultCause) -> None:
    fault = start_fault(engine_error(text, status))
    assert isinstance(fault, JudgeFault)
    assert fault.cause is cause


def test_a_full_disk_is_no_fault_of_the_engine() -> None:
    with pytest.raises(JudgeFault) as caught, engine_faults():
        raise engine_error("write /var/lib/docker/tmp/x: no space left on device")
    assert caught.value.cause is FaultCause.DISK


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["name=seccomp,profile=default"], f"seccomp {seccomp_version()}"),
        (["name=apparmor", "name=seccomp,profile=/x.json", "name=cgroupns"], f"seccomp {seccomp_version()}, apparmor"),
        (["name=rootless", "name=seccomp", "name=userns"], f"seccomp {seccomp_version()}, rootless, userns"),
        (None, "no seccomp"),
    ],
)
def test_an_engine_is_named_with_what_isolates_its_containers(options: list[str] | None, words: str) -> None:
    info = {"KernelVersion": "6.1.0", "CgroupVersion": "2", "DefaultRuntime": "runc", "SecurityOptions": options}
    version = {"Version": "20.10.24", "Components": [{"Name": "runc", "Version": "1.1.5"}]}
    assert engine_words(info, version, None) == f"Docker 20.10.24 (runc 1.1.5, Linux 6.1.0, cgroup v2, {words})"
    assert engine_words(info, version, None, "off").endswith(f"cgroup v2, {words}, cold start off)")


def test_an_engine_with_another_seccomp_profile_has_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    info, version = {"SecurityOptions": ["name=seccomp"]}, {"Version": "20.10.24"}
    before = engine_words(info, version, None)
    monkeypatch.setattr(sandbox.drivers.engine_report, "seccomp_version", lambda: "0123456789ab")
    assert engine_words(info, version, None) == before.replace(seccomp_version(), "0123456789ab") != before


def test_what_an_image_says_of_itself_reaches_no_terminal_as_it_is() -> None:
    for inspection in (
        GOOD | {"Os": "\x1b[2J"},
        GOOD | {"Architecture": "\x1b[2J"},
        changed(Env=["LD_\x1b[2J=x"]),
        changed(Volumes={"\x1b[2J": {}}),
        changed(WorkingDir="\x1b[2J"),
    ):
        with pytest.raises(SubmissionFault) as caught:
            image_from_inspection("a", inspection, "amd64")
        assert caught.value.sentence.isprintable()

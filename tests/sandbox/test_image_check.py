"""Which images may be judged, from their configuration alone."""

from __future__ import annotations

import copy

import docker.errors
import pytest
import requests

from sandbox.docker_driver import start_fault
from sandbox.gpu import parse_gpus, require_gpus
from sandbox.image_check import image_from_inspection
from sandbox.verdict import JudgeFault, SubmissionFault, Verdict

GOOD = {
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
        ({"Env": ["A=\0"]}, Verdict.IMAGE_INVALID, "zero byte"),
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
    ("status", "text", "fault"),
    [
        (400, "No command specified", SubmissionFault),
        (500, "Cannot mkdir: /x is not a directory", SubmissionFault),
        (500, "OCI runtime create failed: mkdir /lambench/x: read-only file system", SubmissionFault),
        (500, "OCI runtime create failed: write /x: no space left on device", JudgeFault),
        (500, 'could not select device driver "" with capabilities: [[gpu]]', JudgeFault),
        (500, "something else", JudgeFault),
    ],
)
def test_whose_fault_it_is_that_a_container_does_not_start(status: int, text: str, fault: type) -> None:
    response = requests.Response()
    response.status_code = status
    assert isinstance(start_fault(docker.errors.APIError("x", response, text)), fault)

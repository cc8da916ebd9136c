"""`--gpus UUID` from end to end, in an engine whose GPUs are a stub's: harmless device files.

docs/hosts.md names what this cannot show: the driver's libraries, GPU memory, MIG and real faults.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import pytest
from ase.build import bulk

from judge.records.attempts import read_histories
from sandbox.driver import Image, Question
from sandbox.drivers.docker_driver import LOCK_LABEL, DockerDriver
from sandbox.limits import MIB, Limits
from sandbox.rundir import RunDir
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.structures.frames import Frames
from tests.servers.gpu_stub import GPUS, GpuStub
from tests.servers.own_engine import OwnEngine, own_engine
from tests.world.world import World

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.takes(60)]

BASE = "lambench/emt:latest"
TAGS = (BASE, "lambench/lennard_jones:latest")  # as other tests have them, so that they are loaded once
LIMITS = Limits(memory_bytes=512 * MIB, tmp_bytes=64 * MIB, startup_s=30, message_s=30, task_s=60, cpus=1)
# Its energy tells which devices the container has.
CALCULATOR = """
import glob, os, stat, time
from ase.calculators.emt import EMT

SLEEP_S = {sleep_s}

class OnDevice(EMT):
    def calculate(self, *args, **kwargs):
        time.sleep(SLEEP_S)
        super().calculate(*args, **kwargs)
        for path in glob.glob("/dev/nvidia*"):
            with open(path, "rb") as device:
                device.read(1)
            self.results["energy"] += 1000.0 * os.minor(os.stat(path).st_rdev)

def make_calculator(device="cpu"):
    wanted = os.environ["NVIDIA_VISIBLE_DEVICES"]
    if device != ("cpu" if wanted == "void" else "cuda"):
        raise ValueError(f"{{device}} with {{wanted}}")
    return OnDevice()
"""


@pytest.fixture(scope="module")
def engine_with_gpus(images: docker.DockerClient) -> Iterator[tuple[OwnEngine, GpuStub]]:
    with TemporaryDirectory(prefix="lg") as folder:
        stub = GpuStub(Path(folder) / "gpus")
        with own_engine(Path(folder), TAGS, images, programs=stub.programs) as engine:
            yield engine, stub


@pytest.fixture
def stub(engine_with_gpus: tuple[OwnEngine, GpuStub], monkeypatch: pytest.MonkeyPatch) -> GpuStub:
    """The stub with both GPUs, in this test's environment with its engine."""
    engine, stub = engine_with_gpus
    stub.show(*GPUS)
    monkeypatch.setenv("DOCKER_HOST", engine.url)
    monkeypatch.setenv("PATH", engine.path)
    return stub


@pytest.fixture
def driver(stub: GpuStub, short_path: Path) -> DockerDriver:
    return DockerDriver(RunDir(short_path))


def on_device(driver: DockerDriver, sleep_s: float = 0.0, name: str = "on-device") -> Image:
    """An image whose calculator reads its devices."""
    files = {
        "Dockerfile": f"FROM {BASE}\nCOPY calculator.py /model/\nLABEL name={name}\n",
        "calculator.py": CALCULATOR.format(sleep_s=sleep_s),
    }
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(text), 0o644
            tar.addfile(entry, io.BytesIO(text.encode()))
    tag = f"lambench-test/{name}:latest"
    docker.from_env().images.build(fileobj=io.BytesIO(context.getvalue()), custom_context=True, tag=tag, rm=True)
    return driver.resolve(tag)


def devices(driver: DockerDriver, image: Image, gpu: str | None) -> float:
    """The sum of the minor numbers of the NVIDIA devices in a container of `image`."""

    def body(remote: RemoteCalculator) -> float:
        return float(remote.compute(Frames.from_atoms([bulk("Cu")]), ("energy",)).energy[0])

    outcome = run_session(driver, image, LIMITS, Question(device="cuda" if gpu else "cpu", gpu=gpu), body)
    assert outcome.verdict is Verdict.OK, outcome
    assert outcome.value is not None
    return round(outcome.value / 1000.0)


def test_a_container_gets_the_device_that_was_asked_for_and_no_other(driver: DockerDriver, stub: GpuStub) -> None:
    image = on_device(driver)
    before = len(stub.records())
    assert [devices(driver, image, gpu) for gpu in (*GPUS, None)] == [3, 5, 0]
    records = stub.records()[before:]
    assert [record["arguments"] for record in records] == [["prestart"]] * 2  # not called without a GPU
    for record, uuid in zip(records, GPUS, strict=True):
        assert record["state"]["pid"] > 0
        named = dict(line.partition("=")[::2] for line in record["env"])
        assert named["NVIDIA_VISIBLE_DEVICES"] == uuid
        assert named["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility"


def test_a_gpu_that_the_engine_does_not_have_is_a_fault_of_the_machine(driver: DockerDriver, stub: GpuStub) -> None:
    """Not a verdict, and no run on the CPU."""
    image = on_device(driver)
    stub.show(GPUS[0])
    with pytest.raises(JudgeFault, match="unknown device") as caught:
        devices(driver, image, GPUS[1])
    assert caught.value.cause is FaultCause.GPU
    assert driver.reap() == 0


def world_with(world: World, driver: DockerDriver, names: Sequence[str], sleep_s: float) -> None:
    world.write_settings(driver="docker", cold_start="off")
    for name in names:
        world.record(name, on_device(driver, sleep_s, name))


def test_a_uuid_of_no_gpu_is_refused_before_anything_is_started(world: World, driver: DockerDriver) -> None:
    world_with(world, driver, ["alone"], 0.0)
    status, out, err = world.run("evaluate", "--all", "--gpus", "GPU-cccc")
    assert status == 3
    assert "GPU GPU-cccc is not in this machine" in out + err
    assert not list(world.store.list("attempts/"))


def test_a_gpu_that_vanishes_in_mid_run_spoils_the_attempt_alone(
    world: World, driver: DockerDriver, stub: GpuStub
) -> None:
    world_with(world, driver, ["vanishes"], 0.5)
    before = len(stub.records())
    process = world.command("evaluate", "--all", "--gpus", GPUS[0], "--task", "copper")
    wait(lambda: len(stub.records()) > before, process)
    stub.show(GPUS[1])
    out, err = process.communicate(timeout=120)
    assert process.returncode != 0
    ids = [submission.split("/")[1] for submission in world.store.list("submissions/")]
    ends = [end for history in read_histories(world.store, ids).values() for end in history.faults]
    assert {(end.fault, end.culprit) for end in ends} == {(FaultCause.GPU, f"gpu {GPUS[0]}")}, (out, err)
    assert not world.results()
    stub.show(*GPUS)
    status, out, err = world.run("evaluate", "--all", "--gpus", GPUS[0], "--task", "copper", "--retry-held")
    assert status == 0, (out, err)
    assert [result.verdict for result in world.results()] == [Verdict.OK]


def test_two_submissions_run_on_two_gpus_and_a_third_waits(world: World, driver: DockerDriver, stub: GpuStub) -> None:
    names = ("first", "second", "third")
    world_with(world, driver, names, 0.3)
    client = docker.from_env()
    before = len(stub.records())
    ids = [key.split("/")[1] for key in sorted(world.store.list("submissions/")) if key.endswith("submission.json")]
    judges = [
        world.command("evaluate", submission, "--task", "copper", "--gpus", gpu)
        for submission, gpu in zip(ids, (*GPUS, GPUS[0]), strict=True)
    ]
    most: Counter[str] = Counter()
    at_once = 0
    while any(judge.poll() is None for judge in judges):
        running = [
            dict(line.partition("=")[::2] for line in container.attrs["Config"]["Env"])["NVIDIA_VISIBLE_DEVICES"]
            for container in client.containers.list(filters={"label": LOCK_LABEL}, ignore_removed=True)
        ]
        at_once = max(at_once, len(running))
        most |= Counter(running)
        time.sleep(0.02)
    outputs = [judge.communicate() for judge in judges]
    assert [judge.returncode for judge in judges] == [0, 0, 0], outputs
    assert at_once == 2
    assert most == Counter(GPUS)  # never two containers on one GPU
    assert len(stub.records()) - before == 3
    origins = [result.provenance.origin for result in world.results()]
    assert sorted(str(origin.gpu) for origin in origins) == sorted([*GPUS, GPUS[0]])


def wait(ready: object, process: subprocess.Popen[str]) -> None:
    """Returns once `ready`."""
    until = time.monotonic() + 60
    while not ready():  # type: ignore[operator]
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)

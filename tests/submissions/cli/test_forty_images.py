"""The mistakes of an author as real images: the same lines as of folders, and faults that only an image can have."""

from __future__ import annotations

import io
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import docker
import pytest

from sandbox.driver import Question
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.limits import MIB, Limits
from sandbox.rundir import RunDir
from sandbox.verdict import SubmissionFault, Verdict
from submissions.preflight.preflight import run_preflight
from tests.submissions.cli.test_forty_mistakes import FACTORY, STARTS, V, answering

pytestmark = [pytest.mark.soak, pytest.mark.docker, pytest.mark.timeout(600)]
LIMITS = Limits(memory_bytes=512 * MIB, startup_s=60, cpus=1)
LIMITS_OF_PYTORCH = Limits(memory_bytes=2048 * MIB, startup_s=120, cpus=1)
OLD = "3.8"
TAG = "lambench-test/mistake:latest"
BASE = "lambench/calculator"
LABEL = 'LABEL org.lambench.calculator="calculator:make_calculator"'
# Rows of folders that take another Python: the images of `OF_IMAGES` have the same faults.
OTHER_PYTHON = {name for name, mistake in STARTS.items() if "python" not in mistake.python or "-S" in mistake.python}
# Rows of folders that raise what a library would: the images of `OF_IMAGES` have the fault itself.
RAISED = {"network at start", "weights that are missing", "a system library"}


class ImageMistake(NamedTuple):
    """A `calculator.py`, lines of the Dockerfile before it is copied, the verdict, and words as of `Mistake`."""

    code: str
    lines: tuple[str, ...]
    verdict: Verdict
    sentence: str
    error: str = ""


def loading(line: str) -> str:
    """A factory that runs a line at its start."""
    return f"def make_calculator():\n    {line}\n"


WEIGHTS = """
import torch
import torch.serialization

class Network(torch.nn.Linear):
    pass

torch.save(Network(3, 1), "whole.pt")
torch.save(Network(3, 1).state_dict(), "state.pt")
torch.serialization.location_tag = lambda storage: "cuda:0"  # as on a machine with a GPU
torch.save(torch.ones(3), "of_gpu.pt")
"""
LOADS = "import torch\ndef make_calculator():\n    "
HUB = 'torch.hub.load_state_dict_from_url("https://example.org/weights.pt", model_dir="/tmp")'
# Of PyTorch itself, on the image of an example that has it.
OF_PYTORCH = {
    "weights only": ImageMistake(LOADS + 'torch.load("whole.pt")', (), V.STARTUP_FAILED, "weights_only=False"),
    "weights of a GPU": ImageMistake(LOADS + 'torch.load("of_gpu.pt")', (), V.STARTUP_FAILED, "map_location"),
    "a missing key": ImageMistake(
        LOADS + "torch.nn.Linear(3, 2, False).load_state_dict({})",
        (),
        V.STARTUP_FAILED,
        "The factory raised an error",
        "Error(s) in loading state_dict",
    ),
    "a GPU that is asked for": ImageMistake(
        LOADS + 'torch.ones(3).to("cuda")', (), V.STARTUP_FAILED, "wants a GPU and was started on the CPU", "CUDA"
    ),
    "a hub that cannot be reached": ImageMistake(LOADS + HUB, (), V.STARTUP_FAILED, "needs the network", "URLError"),
}
DOWNLOAD = "import urllib.request\n" + loading('urllib.request.urlopen("https://example.org/weights.pt", timeout=20)')
OF_IMAGES = {
    "no ase": ImageMistake(
        FACTORY, ("RUN rm -rf /opt/venv/lib/python3*/site-packages/ase",), V.STARTUP_FAILED, "has no ase: add `RUN pip"
    ),
    "no numpy": ImageMistake(
        FACTORY, ("RUN rm -rf /opt/venv/lib/python3*/site-packages/numpy*",), V.STARTUP_FAILED, "has no numpy"
    ),
    "no Python in PATH": ImageMistake(FACTORY, ("ENV PATH=/nowhere",), V.IMAGE_INVALID, "has no such Python"),
    "network at start": ImageMistake(DOWNLOAD, (), V.STARTUP_FAILED, "needs the network", "URLError"),
    "a system library": ImageMistake(
        "import ctypes\n" + loading('ctypes.CDLL("libcudart.so.12")'),
        (),
        V.STARTUP_FAILED,
        "apt-get",
        "libcudart.so.12",
    ),
    "weights that are missing": ImageMistake(
        loading('open("/model/w.pt")'), (), V.STARTUP_FAILED, "misses a file", "'/model/w.pt'"
    ),
    "weights that only root may read": ImageMistake(
        loading('open("/model/w.pt")'),
        ("RUN touch /model/w.pt && chmod 0600 /model/w.pt",),
        V.STARTUP_FAILED,
        "chmod -R a+rX",
        "Permission denied",
    ),
    "a file beside the model": ImageMistake(
        loading('open("/model/cache", "w")'), (), V.STARTUP_FAILED, "writes outside /tmp", "cache"
    ),
    "too much memory": ImageMistake(
        answering('self.results["energy"] = float(np.ones(200 * 2**20).sum())'), (), V.MEMORY_LIMIT, "memory"
    ),
}


class LabelMistake(NamedTuple):
    """Lines of the Dockerfile, and words of the refusal, which comes before a container starts."""

    lines: tuple[str, ...]
    words: str


OF_CONFIGURATIONS = {
    "no label": LabelMistake((), "has no label org.lambench.calculator"),
    "a label with .py": LabelMistake(("LABEL org.lambench.calculator=calculator.py:make",), "write 'calculator:make'"),
    "a label with a call": LabelMistake(
        ('LABEL org.lambench.calculator="calculator:make()"',), "write 'calculator:make'"
    ),
    "a label without a factory": LabelMistake(("LABEL org.lambench.calculator=calculator",), "must be module:factory"),
    "a library path": LabelMistake(
        (LABEL, "ENV LD_LIBRARY_PATH=/opt/lib"), "end its Dockerfile with `ENV LD_LIBRARY_PATH=`"
    ),
    "a volume": LabelMistake((LABEL, "VOLUME /data"), "remove the VOLUME line"),
    "a Python that is no list": LabelMistake(
        (LABEL, "LABEL org.lambench.python=/opt/venv/bin/python"), "must be a JSON list of words"
    ),
}


@pytest.fixture(scope="module")
def driver(images: docker.DockerClient) -> Iterator[DockerDriver]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield DockerDriver(RunDir(Path(folder)), cold_start="off")


def built(
    engine: docker.DockerClient, code: str, lines: tuple[str, ...], base: str = BASE, python: Path | None = None
) -> str:
    """The tag of an image with a `calculator.py`, if there is code.

    Args:
        python: a folder with another Python, for the folder `python` of the context.
    """
    copied = ("COPY calculator.py /model/",) if code else ()
    files = {"Dockerfile": "\n".join((f"FROM {base}", "USER root", *lines, *copied)), "calculator.py": code}
    files["weights.py"] = WEIGHTS
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text.encode()), 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
        if python is not None:
            archive.add(python / "bin", "python/bin")
            archive.add(python / "lib", "python/lib", filter=_without_packages)
    context.seek(0)
    engine.images.build(fileobj=context, custom_context=True, tag=TAG, rm=True)
    return TAG


def _without_packages(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if {"site-packages", "test"} & set(entry.name.split("/")) else entry


def refused(
    driver: DockerDriver, tag: str, verdict: Verdict, sentence: str, error: str, limits: Limits = LIMITS
) -> None:
    outcome = run_preflight(driver, driver.resolve(tag), limits, [Question()])
    assert (outcome.verdict, outcome.value) == (verdict, None), outcome
    assert sentence in outcome.sentence, outcome
    assert error in outcome.private.split("\n")[0], outcome


@pytest.mark.parametrize("name", [name for name in STARTS if name not in OTHER_PYTHON | RAISED])
def test_a_mistake_of_a_folder_gets_the_same_sentence_as_an_image(
    images: docker.DockerClient, driver: DockerDriver, name: str
) -> None:
    mistake = STARTS[name]
    refused(driver, built(images, mistake.code, (LABEL,)), mistake.verdict, mistake.sentence, mistake.error)


@pytest.mark.parametrize("name", OF_IMAGES)
def test_a_fault_of_an_image_gets_the_sentence_that_names_it(
    images: docker.DockerClient, driver: DockerDriver, name: str
) -> None:
    mistake = OF_IMAGES[name]
    tag = built(images, mistake.code, (LABEL, *mistake.lines))
    refused(driver, tag, mistake.verdict, mistake.sentence, mistake.error)


@pytest.mark.parametrize("name", OF_PYTORCH)
def test_a_fault_of_pytorch_gets_the_sentence_that_names_it(
    images: docker.DockerClient, driver: DockerDriver, name: str
) -> None:
    mistake = OF_PYTORCH[name]
    lines = (LABEL, "WORKDIR /model", "COPY weights.py /tmp/", "RUN python3 /tmp/weights.py && chmod a+r *.pt")
    tag = built(images, mistake.code, lines, "lambench/chgnet")
    refused(driver, tag, mistake.verdict, mistake.sentence, mistake.error, LIMITS_OF_PYTORCH)


def test_an_old_python_is_named(images: docker.DockerClient, driver: DockerDriver) -> None:
    beside = sorted(Path(sys.base_prefix).parent.glob(f"{OLD}.*/bin/python{OLD}"))  # as pyenv installs them
    if not beside:
        pytest.skip(f"there is no Python {OLD} beside this one")
    finds_its_library = "RUN echo /opt/python/lib >/etc/ld.so.conf.d/python.conf && ldconfig"
    lines = (
        LABEL,
        "COPY python /opt/python",
        finds_its_library,
        f"""LABEL org.lambench.python='["/opt/python/bin/python{OLD}"]'""",
    )
    tag = built(images, FACTORY, lines, python=beside[-1].parents[1])
    refused(driver, tag, V.STARTUP_FAILED, "Python is too old", f"this is Python {OLD}")


@pytest.mark.parametrize("name", OF_CONFIGURATIONS)
def test_a_configuration_is_refused_before_a_container_starts(
    images: docker.DockerClient, driver: DockerDriver, name: str
) -> None:
    lines, words = OF_CONFIGURATIONS[name]
    with pytest.raises(SubmissionFault) as caught:
        driver.resolve(built(images, FACTORY, lines))
    assert words in caught.value.sentence


def test_an_image_of_another_architecture_is_refused(images: docker.DockerClient, driver: DockerDriver) -> None:
    tag = built(images, FACTORY, (LABEL,), "scratch")
    files = io.BytesIO(b"".join(images.images.get(tag).save()))
    with tarfile.open(fileobj=files) as saved:
        (manifest,) = json.load(saved.extractfile("manifest.json"))
        config = json.load(saved.extractfile(manifest["Config"])) | {"architecture": "riscv64"}
        contents = {entry.name: saved.extractfile(entry).read() for entry in saved if entry.isfile()}
    changed = io.BytesIO()
    contents = {name: data for name, data in contents.items() if name in manifest["Layers"]}
    manifest |= {"Config": "config.json", "RepoTags": [TAG]}
    contents |= {"config.json": json.dumps(config).encode(), "manifest.json": json.dumps([manifest]).encode()}
    with tarfile.open(fileobj=changed, mode="w") as archive:
        for name, data in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    images.images.load(changed.getvalue())
    with pytest.raises(SubmissionFault) as caught:
        driver.resolve(TAG)
    assert "--platform linux/" in caught.value.sentence


def test_there_are_forty_images() -> None:
    of_folders = len(STARTS) - len(OTHER_PYTHON | RAISED)
    assert of_folders + len(OF_IMAGES) + len(OF_CONFIGURATIONS) + 1 >= 40

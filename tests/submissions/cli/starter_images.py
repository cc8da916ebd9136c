"""Images of starters, built without a network from wheels that the host downloaded, and the check of them."""

from __future__ import annotations

import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

import docker
import pytest

from judge.demo.wheels import wheels_of
from sandbox.verdict import JudgeFault, Verdict
from submissions.card.starter import WEIGHTS, StarterName, starter
from submissions.cli.main import main
from submissions.requests import Receipt

ROOT = Path(__file__).parents[3]


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit status of the command, run in this process."""
    monkeypatch.setattr(sys, "argv", ["lambench-submit", *arguments])
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


class Builder:
    """Builds folders and removes what it built."""

    def __init__(self, engine: docker.DockerClient) -> None:
        self._engine = engine
        self._built: list[str] = []

    def build(self, name: str, folder: Path, base: str) -> str:
        """The tag of the image of `folder` on `base`, built without a network."""
        tag = f"lambench-test/starter-{name}:latest"
        self._engine.images.build(
            path=str(folder), tag=tag, buildargs={"BASE": base}, network_mode="none", rm=True, forcerm=True
        )
        self._built.append(tag)
        return tag

    def base(self, name: str, *lines: str, wheels: Path | None = None, folder: Path) -> str:
        """The tag of a base image: the example image of CHGNet, which has PyTorch, and `lines`."""
        folder.mkdir()
        # Copied over one another, its stages leave two records of setuptools, and pip believes the older.
        first = "FROM lambench/chgnet:latest\nRUN rm -rf /opt/venv/lib/python3*/site-packages/setuptools-66*\n"
        (folder / "Dockerfile").write_text(first + "\n".join(lines) + "\n")
        for wheel in wheels.glob("*.whl") if wheels else ():
            if not wheel.name.startswith("torch-"):
                shutil.copy(wheel, folder)
        return self.build(name, folder, "")

    def close(self) -> None:
        for tag in reversed(self._built):
            self._engine.images.remove(tag, force=True)


def passes(monkeypatch: pytest.MonkeyPatch, folder: Path, image: str) -> Receipt:
    """The receipt of a check of `image` that passed."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LAMBENCH_LIMITS__CPUS", "1")  # threads that wait for one another are slow on a busy machine
    assert run(monkeypatch, "check", image, "--image") == 0
    receipt = Receipt.read((folder / "lambench-receipt.json").read_bytes())
    assert receipt.verdict is Verdict.OK
    return receipt


def wheels_for(name: StarterName, folder: Path) -> Path:
    """A folder with the wheels of a starter, and of the PyTorch that the example images have."""
    torch = (ROOT / "submissions" / "examples" / "chgnet" / "torch.txt").read_text()
    lines = f"{torch}\n{starter(name, name).files['requirements.txt']}".splitlines()
    pins = {line for line in lines if "==" in line and not line.startswith(("#", "chgnet=="))}
    wanted = folder / "requirements.txt"
    wanted.write_text("\n".join(sorted(pins)) + "\n")
    try:
        return wheels_of(wanted)
    except JudgeFault as fault:
        pytest.skip(f"the wheels of {name} cannot be had: {fault.remedy[-200:]}")


def write_weights(engine: docker.DockerClient, base: str, program: str, folder: Path) -> None:
    """Writes the weights of a starter into its folder, as `program` makes them in a container of `base`.

    Args:
        program: Python; it writes the files into /weights, which exists.
    """
    whole = f"import os\nos.makedirs('/{WEIGHTS}')\n{program}"
    container = engine.containers.run(base, ["python", "-c", whole], network_mode="none", detach=True)
    try:
        assert container.wait()["StatusCode"] == 0, container.logs().decode()[-2000:]
        chunks, _ = container.get_archive(f"/{WEIGHTS}")
        with tempfile.TemporaryFile() as file:
            file.writelines(chunks)
            file.seek(0)
            with tarfile.open(fileobj=file) as archive:
                archive.extractall(folder, filter="data")
    finally:
        container.remove(force=True)

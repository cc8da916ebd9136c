"""The examples that the judge trains: they learn, keep to the time and to their folder, and obey the laws of physics.

kernel_ridge runs in the interpreter of the tests; small_network needs PyTorch, and runs in an image that has it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import docker
import numpy as np
import pytest

from submissions.card.file import read_card
from submissions.card.starter import StarterName, starter
from submissions.preflight.trainer_data import THEORY, public_training_frames
from tasks.learning.training_folder import write_frames

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "submissions" / "examples"
PROGRAM = Path(__file__).parent / "trainer_program.py"
N_LEARNED = 48
WALL_S = 45.0  # what small_network is given; the test needs less on a quiet machine
AMPLE_S = 300.0  # more than kernel_ridge needs, also on a busy machine

Run = Callable[..., Any]


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training folder as the judge writes it, with frames of ethanol; asked.npz beside it is for the tests alone."""
    folder = tmp_path_factory.mktemp("training")
    frames, labels = public_training_frames()
    for name, chosen in (("asked", np.arange(N_LEARNED, len(frames))), ("learned", np.arange(N_LEARNED))):
        taken = type(labels)(labels.energy[chosen], labels.forces[frames.atom_indices(chosen)])
        write_frames(frames.take(chosen), taken, THEORY, folder)
        if name == "asked":
            (folder / "frames.npz").rename(folder / "asked.npz")
    return folder


def here(*arguments: str) -> Any:
    """The facts that the program prints in this interpreter."""
    done = subprocess.run(
        [sys.executable, PROGRAM, *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def run_kernel_ridge(command: str, *arguments: object) -> Any:
    return here(command, str(EXAMPLES / "kernel_ridge"), *map(str, arguments))


@pytest.fixture
def run_small_network(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    folder = str(EXAMPLES / "small_network")
    if find_spec("torch") is not None:
        return lambda command, *arguments: here(command, folder, *map(str, arguments))
    engine: docker.DockerClient = request.getfixturevalue("images")

    def run(command: str, data: Path, out: Path, *arguments: object) -> Any:
        """The same in the image of CHGNet, which has PyTorch."""
        out.chmod(0o777)
        said = engine.containers.run(
            "lambench/chgnet:latest",
            ["python3", "/program.py", command, "/example", "/data", "/out", *map(str, arguments)],
            entrypoint=[],
            network_mode="none",
            remove=True,
            nano_cpus=2 * 10**9,
            volumes={
                str(PROGRAM): {"bind": "/program.py", "mode": "ro"},
                folder: {"bind": "/example", "mode": "ro"},
                str(data): {"bind": "/data", "mode": "ro"},
                str(out): {"bind": "/out", "mode": "rw"},
            },
        )
        return json.loads(said.decode().splitlines()[-1])

    return run


def assert_obeys_physics(facts: dict[str, Any], tolerance: float) -> None:
    """Laws that hold for both by construction; `tolerance` in eV and eV/Å is that of their arithmetic."""
    assert facts["largest_force"] > 0.1
    assert facts["gradient_error"] < max(10 * tolerance, 5e-3 * facts["largest_force"])
    for law in ("rotation_energy", "rotation_force", "exchange_energy", "exchange_force", "apart"):
        assert facts[law] < tolerance, law
    assert facts["untrained"] == [0.0, 0.0]
    assert facts["unknown_element"] == "InputError"


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_kernel_ridge_learns_and_obeys_the_laws_of_physics(data: Path, tmp_path: Path) -> None:
    before = files_in(data)
    used_s = run_kernel_ridge("train", data, tmp_path, AMPLE_S, 1)["used_s"]
    assert used_s < AMPLE_S
    assert files_in(tmp_path) == {"model.npz"}
    assert files_in(data) == before
    facts = run_kernel_ridge("measure", data, tmp_path)
    assert facts["force_mae"] < 0.5 * facts["mean_force"]
    assert_obeys_physics(facts, 1e-4)


def test_kernel_ridge_leaves_the_same_model_for_the_same_seed(data: Path, tmp_path: Path) -> None:
    models = []
    for name, seed in (("first", 1), ("same", 1), ("other", 2)):
        out = tmp_path / name
        out.mkdir()
        run_kernel_ridge("train", data, out, AMPLE_S, seed)
        with np.load(out / "model.npz") as model:
            models.append({key: model[key] for key in model.files})
    first, same, other = models
    for key in first:
        np.testing.assert_array_equal(first[key], same[key])
    assert not np.array_equal(first["centres_0"], other["centres_0"])


def test_kernel_ridge_leaves_a_model_after_sigterm(data: Path, tmp_path: Path) -> None:
    used_s = run_kernel_ridge("train", data, tmp_path, 600, 1, 0.5)["used_s"]
    assert used_s < 60
    assert files_in(tmp_path) == {"model.npz"}
    assert np.isfinite(run_kernel_ridge("measure", data, tmp_path)["force_mae"])


def test_kernel_ridge_with_hardly_any_time_leaves_a_model(data: Path, tmp_path: Path) -> None:
    run_kernel_ridge("train", data, tmp_path, 0.1, 1)
    assert files_in(tmp_path) == {"model.npz"}
    assert np.isfinite(run_kernel_ridge("measure", data, tmp_path)["force_mae"])


@pytest.mark.slow
@pytest.mark.docker
def test_small_network_learns_in_time_and_obeys_the_laws_of_physics(
    data: Path, tmp_path: Path, run_small_network: Run
) -> None:
    before = files_in(data)
    used_s = run_small_network("train", data, tmp_path, WALL_S, 1)["used_s"]
    assert used_s < WALL_S
    assert files_in(tmp_path) == {"model.pt"}
    assert files_in(data) == before
    facts = run_small_network("measure", data, tmp_path)
    assert facts["force_mae"] < 0.5 * facts["mean_force"]
    assert_obeys_physics(facts, 2e-3)


@pytest.mark.soak
@pytest.mark.docker
def test_small_network_leaves_a_model_after_sigterm(data: Path, tmp_path: Path, run_small_network: Run) -> None:
    used_s = run_small_network("train", data, tmp_path, 600, 1, 15)["used_s"]
    assert used_s < 60
    assert files_in(tmp_path) == {"model.pt"}
    assert np.isfinite(run_small_network("measure", data, tmp_path)["force_mae"])


@pytest.mark.soak
@pytest.mark.docker
def test_small_network_leaves_the_same_model_for_the_same_seed(
    data: Path, tmp_path: Path, run_small_network: Run
) -> None:
    models = []
    for name in ("first", "same"):
        (tmp_path / name).mkdir()
        run_small_network("train", data, tmp_path / name, WALL_S, 1)
        models.append((tmp_path / name / "model.pt").read_bytes())
    assert models[0] == models[1]


def test_both_have_the_same_descriptors() -> None:
    first, second = (EXAMPLES / name / "environments.py" for name in ("kernel_ridge", "small_network"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("name", ["kernel_ridge", "small_network"])
def test_they_have_good_cards_and_copy_all_their_modules(name: str) -> None:
    assert read_card(EXAMPLES / name / "lambench.toml").label_sets
    dockerfile = (EXAMPLES / name / "Dockerfile").read_text()
    copied = next(line for line in dockerfile.splitlines() if line.startswith("COPY calculator.py")).split()
    assert {path.name for path in (EXAMPLES / name).glob("*.py")} == {word for word in copied if word.endswith(".py")}


def test_the_starter_of_a_trainer_learns(data: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "mine", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    for path, content in starter(StarterName.TRAINER, "mine").files.items():
        (folder / path).write_text(content)
    here("train", str(folder), str(data), str(out), str(WALL_S), "1")
    facts = here("measure", str(folder), str(data), str(out))
    assert files_in(out) == {"model.npz"}
    assert facts["force_mae"] < 0.5 * facts["mean_force"]
    assert_obeys_physics(facts, 1e-6)

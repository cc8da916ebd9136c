"""The two reference trainers through Docker, on a trajectory of aspirin by GFN2-xTB: they learn, and repeats agree.

About 25 minutes on two cores; prints the learning curves.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from judge.records.items_file import items_path, unpack_items
from judge.records.records import Result
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.rundir import RunDir
from submissions.records import ModelCard
from tests.world.commands import ROOT
from tests.world.world import World

pytestmark = [pytest.mark.docker, pytest.mark.soak, pytest.mark.timeout(3600)]

SIZES, SEEDS = (50, 200, 800), (1, 2, 3)
TRAINERS = ("kernel_ridge", "small_network")
SUITE = f"""
name = "small"
version = "1"
title = "Reference trainers"
[[tasks]]
name = "sample-efficiency"
kind = "sample_efficiency"
dataset = "aspirin@1"
domain = "Molecules"
time_limit_s = 600
parameters = {{ sizes = {list(SIZES)}, seeds = {list(SEEDS)}, wall_s = 40, n_asked = 100 }}
"""


@pytest.fixture(scope="module")
def judged() -> Iterator[World]:
    """A world in which both were judged, and judged again."""
    subprocess.run([ROOT / "setup/images.sh", *TRAINERS], check=True)
    with TemporaryDirectory(prefix="lj") as folder:
        world = World(Path(folder), more={"driver": "docker", "allow_process": False, "limits": {"cpus": 2}})
        (world.root / "small.toml").write_text(SUITE)
        world.write_settings()
        made = ("data", "make-trajectory", "aspirin", "--name", "aspirin", "--version", "1", "--frames", "1000")
        judge(world, *made, "--seed", "22")
        driver = DockerDriver(RunDir(world.root / "run"))
        for name in TRAINERS:
            world.record(name, driver.resolve(f"lambench/{name}:latest"), ModelCard(name=name))
        for command in ("evaluate", "rejudge"):
            judge(world, command, "--all")
        yield world


def judge(world: World, *arguments: str) -> None:
    """Runs `judge` with these arguments to its end, however long it takes."""
    process = world.command(*arguments)
    out, err = process.communicate()
    assert process.returncode == 0, out + err


def results_of(world: World, trainer: str) -> list[Result]:
    """Those of both rounds."""
    (id,) = {key.split("/")[1] for key in world.store.list("submissions/") if f"/{trainer.replace('_', '-')}" in key}
    keys = [key for key in world.store.list(f"results/{id}/") if key.endswith(".json")]
    return sorted((Result.read(world.store.get(key)) for key in keys), key=lambda result: result.round)


def errors(world: World, result: Result) -> np.ndarray[Any, Any]:
    """(sizes, seeds) force MAEs [eV/Å]."""
    items = unpack_items(world.store.get(items_path(result.submission, result.task, result.result_key)))
    of = dict(zip(items.id, items.columns["force_abs"] / items.columns["force_count"], strict=True))
    return np.array([[of[f"n{n}-s{seed}"] for seed in SEEDS] for n in SIZES])


@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_curves_fall_and_repeats_agree(judged: World, trainer: str) -> None:
    first, second = (errors(judged, result) for result in results_of(judged, trainer))
    for n, once, again in zip(SIZES, first, second, strict=True):
        print(f"{trainer} n = {n}: {1000 * once.mean():.1f} and {1000 * again.mean():.1f} meV/Å")
    for curve in (first, second):
        assert (np.diff(curve.mean(axis=1)) < 0).all(), curve
    scores, spreads = (
        [result.metrics[name].value for result in results_of(judged, trainer)]
        for name in ("force_learning_ratio", "force_learning_ratio_se")
    )
    print(f"{trainer}: {scores[0]:.4f} and {scores[1]:.4f} of composition alone, ± {spreads[0]:.4f}, {spreads[1]:.4f}")
    assert abs(scores[0] - scores[1]) <= 2 * np.hypot(*spreads)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_all_trainings_left_a_model(judged: World, trainer: str) -> None:
    for result in results_of(judged, trainer):
        assert result.verdict == "OK"
        assert not result.failures

"""Each metric of ML-PEG that the facts name as measured is there, by its name and unit, for what a layout imports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scoring.ml_peg import load_facts
from tasks.importing.ml_peg.import_layout import import_benchmark
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Measurement
from tasks.suites.suite import load_suite
from tests.tasks.importing.ml_peg.layouts import MADE
from tests.tasks.made_up import observed

UNITS = {"meV/A^2": "meV/Å²", "-": ""}


def measured(name: str, place: Path) -> Measurement:
    """Of energies that are drawn, with the parameters of the suite."""
    MADE[name](place)
    dataset = import_benchmark(name, place)
    (task,) = [task for task in load_suite("ml-peg").tasks if task.ml_peg == name]
    energies = np.random.default_rng(7).normal(size=len(dataset.frames))
    return KINDS[task.kind].measure(observed(energies), dataset, task.parameters, None)


@pytest.mark.parametrize(
    "name",
    [
        "3dTMV",
        "CPOSS209",
        "CRBH20",
        "Defectstab",
        "GSCDB138_barriers",
        "LNCI16",
        "OC157",
        "PLF547",
        "Relastab",
        "S24",
        "S30L",
        "X23",
        "cleavage_energy",
        "extensivity",
        "isomer_complexes",
    ],
)
def test_each_metric_is_there_with_its_unit(name: str, tmp_path: Path) -> None:
    facts, found = load_facts().benchmarks[name], measured(name, tmp_path / name)
    groups = {f"{part.metric}:{part.name}": part.unit for part in found.parts if part.by == "group"}
    units = {metric: of.unit for metric, of in found.metrics.items()} | groups
    for metric, ours in facts.measured.items():
        unit, wanted = units[ours.removeprefix("1 - ")], facts.metrics[metric].unit
        assert unit == UNITS.get(wanted, wanted) or (unit == "%" and wanted == "-"), metric
    assert facts.measured.keys() == facts.metrics.keys()

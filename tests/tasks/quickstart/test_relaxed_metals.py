"""The quickstart metals relaxed with EMT: perfect crystals, and the vacancies that ASE alone finds."""

from __future__ import annotations

import time

import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.filters import FrechetCellFilter
from ase.optimize import FIRE

from tasks.kind import Watch
from tasks.kinds.registry import KINDS
from tasks.model.calculator import InProcessCalculator
from tasks.quickstart.registry import BUILDERS


def relaxed_energy(atoms: Atoms) -> float:
    atoms.calc = EMT()
    assert FIRE(FrechetCellFilter(atoms), logfile=None).run(fmax=0.001, steps=500)
    return float(atoms.get_potential_energy())


def test_emt_gives_perfect_crystals_and_the_vacancies_that_ase_alone_finds() -> None:
    kind, dataset = KINDS["relaxed_structures"], BUILDERS["relaxed-metals"]()
    settings = {"relaxation": {"optimizer": "BFGS", "fmax": 0.005, "max_steps": 200}, "rattle": 0.1, "strain": 0.03}
    parameters = kind.parameters.model_validate(settings)
    observation = kind.observe(dataset.structures, parameters, InProcessCalculator(EMT()), Watch(time.monotonic))
    measured = kind.measure(observation, dataset, parameters, None)
    assert not measured.items.cause.any()
    assert (measured.metrics["rmsd"].value or 1.0) < 0.001 < 0.07 < (measured.metrics["rmsd"].baseline or 0.0)
    predicted = dict(zip(measured.items.id, measured.items.columns["predicted"], strict=True))
    for element in ("Cu", "Pt"):
        expected = relaxed_energy(bulk(element, cubic=True).repeat(2)[1:]) - 31 * relaxed_energy(bulk(element))
        assert predicted[f"{element} vacancy formation"] == pytest.approx(expected, abs=0.002)

"""Models without chemistry never get below the baselines of elasticity and phonons."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from ase.build import bulk
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from ase.neighborlist import neighbor_list

from tasks.datasets.dataset import Dataset
from tasks.kind import Observation, Watch
from tasks.kinds.elasticity import PROPERTIES, Elasticity, ElasticityParameters
from tasks.kinds.phonons import PhononsParameters
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.relaxation import Relaxation
from tests.tasks.kinds.phonon_crystals import Case, measure, numbers, observe
from tests.tasks.made_up_crystals import make_crystals

WATCH = Watch(clock=lambda: 0.0)
# The acoustic modes at Γ, which take no part, are few in this mesh.
FINE = PhononsParameters(relaxation=Relaxation(optimizer="BFGS"), mesh=(16, 16, 16))
FCC = ("Cu", "Ag", "Au", "Al", "Ni", "Pd", "Pt")


class EqualSprings(Calculator):
    """Springs of one stiffness [eV/Å²] between nearest neighbours, at rest in the first structure of each crystal."""

    implemented_properties: ClassVar = ["energy", "forces", "stress"]

    def __init__(self, stiffness: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.stiffness, self.rest = stiffness, {}

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)  # type: ignore[no-untyped-call]
        i, d, vectors = neighbor_list("idD", atoms, 4.2)
        rest = self.rest.setdefault(str(atoms.symbols[0]), d.min())
        near = d < 1.2 * rest
        i, d, vectors = i[near], d[near], vectors[near]
        pull = (self.stiffness * (d - rest) / d)[:, None] * vectors
        forces = np.zeros((len(atoms), 3))
        np.add.at(forces, i, pull)
        stress = np.einsum("ni,nj->ij", pull, vectors) / 2 / atoms.get_volume()
        self.results = {
            "energy": float((self.stiffness * (d - rest) ** 2).sum() / 4),
            "forces": forces,
            "stress": stress[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]],
        }


def relative(measured: Measurement) -> dict[str, float]:
    """Each error over its baseline."""
    return {
        name: metric.value / metric.baseline
        for name, metric in measured.metrics.items()
        if metric.value is not None and metric.baseline
    }


def check(relative_errors: list[dict[str, float]]) -> None:
    """At least the baseline in each metric, up to the steps of the stiffnesses."""
    for errors in relative_errors:
        assert errors
        assert min(errors.values()) > 0.99, errors


def test_equal_springs_have_no_better_moduli_than_the_baseline() -> None:
    structures = [bulk(element) for element in FCC]
    settings = ElasticityParameters(ions="clamped", relaxation=Relaxation(optimizer="BFGS", fmax=0.01))
    kind = Elasticity()

    def observed(model: Calculator) -> tuple[Observation, Dataset]:
        made = make_crystals(structures, [{}] * len(FCC))
        return kind.observe(made.structures, settings, InProcessCalculator(model), WATCH), made

    honest = kind.values(*observed(EMT()), settings).predicted
    names = [p.name for p in PROPERTIES]
    judged = make_crystals(structures, [dict(zip(names, row, strict=True)) for row in honest.tolist()])

    def errors(model: Calculator) -> dict[str, float]:
        return relative(kind.measure(observed(model)[0], judged, settings, None))

    assert max(errors(EMT()).values()) < 1e-9
    # A model of springs of 1 eV/Å² has moduli of some 40 GPa.
    check([errors(EqualSprings(stiffness)) for stiffness in (0.5, 1.0, 2.0, 4.0, 8.0)])


def test_equal_springs_have_no_better_phonons_than_the_baseline() -> None:
    cases = [Case(bulk(element)) for element in FCC]
    honest = observe(EMT(), cases, FINE)
    references = [numbers(measure(honest, cases, settings=FINE), row).tolist() for row in range(len(FCC))]

    def errors(model: Calculator) -> dict[str, float]:
        return relative(measure(observe(model, cases, FINE), cases, references, FINE))

    assert max(relative(measure(honest, cases, references, FINE)).values()) < 1e-9
    check([errors(EqualSprings(stiffness)) for stiffness in (0.8, 1.4, 2.2)])

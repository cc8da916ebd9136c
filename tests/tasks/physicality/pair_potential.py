"""A sound calculator, and the observation and measurement of a calculator on some of the structures."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes

from tasks.datasets.card import Table
from tasks.datasets.dataset import Dataset
from tasks.kind import Observation, Watch
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.physicality.kind import Physicality, PhysicalityParameters
from tasks.physicality.laws import FurtherLaws
from tasks.physicality.structures import build_physicality

KIND = Physicality()

SMALL = PhysicalityParameters(
    n_variants=2, n_directions=2, displacements=(3e-3, 1e-3), strains=(3e-3, 1e-3), diatomics=("H", "C"), n_distances=60
)
FURTHER = FurtherLaws(largest=4, n_ghosts=2, n_distant=2, time_steps_fs=(0.4, 0.2, 0.1), duration_fs=6.0)
WITH_LAWS = SMALL.model_copy(update={"laws": FURTHER})


def part(*names: str) -> Dataset:
    """Some of the structures of the dataset."""
    whole = build_physicality()
    index = [whole.table.id.index(name) for name in names]
    table = Table(id=names, group=tuple(whole.table.group[i] for i in index), cluster=names)
    card = whole.card.model_copy(update={"periodic": bool(whole.frames.periodic[index].all())})
    return Dataset(card, whole.frames.take(index), table, {})


MIXED = part("Al", "TiO2", "H2O", "C2H5OH")


class Pairs(Calculator):
    """Lennard-Jones of any elements, whose well suits the shortest bonds of molecules, brought to zero at 5 Å: 4 ε
    ((σ/r)¹² − (σ/r)⁶) (1 − (r/5 Å)²)³. ASE's own, which loops over atoms, takes several times as long."""

    implemented_properties = ["energy", "forces", "stress"]  # noqa: RUF012
    epsilon, sigma, cutoff = 1.0, 0.9, 5.0

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        i, vector = self.neighbours(atoms)
        r = np.linalg.norm(vector, axis=1)
        sixth, inside = (self.sigma / r) ** 6, 1.0 - (r / self.cutoff) ** 2
        pair = 4.0 * self.epsilon * (sixth**2 - sixth)
        slope = -24.0 * self.epsilon * (2.0 * sixth**2 - sixth) / r
        derivative = slope * inside**3 - pair * 6.0 * r / self.cutoff**2 * inside**2
        pull = (derivative / r)[:, None] * vector
        forces = np.array([np.bincount(i, weights=pull[:, k], minlength=len(atoms)) for k in range(3)]).T
        self.results = {"energy": 0.5 * float((pair * inside**3).sum()), "forces": forces}
        if atoms.pbc.all():
            stress = 0.5 * pull.T @ vector / atoms.get_volume()
            self.results["stress"] = stress.ravel()[[0, 4, 8, 5, 2, 1]]

    def neighbours(self, atoms: Atoms) -> Any:
        """For each pair within the cutoff, including images: the first atom, and the vector to the second."""
        positions, shifts = atoms.positions, np.zeros((1, 3))
        if atoms.pbc.all():
            inverse = np.linalg.inv(atoms.cell.array)
            positions = positions - np.floor(positions @ inverse) @ atoms.cell.array
            reach = np.ceil(self.cutoff * np.linalg.norm(inverse, axis=0)).astype(int) + 1
            shifts = (np.array(list(np.ndindex(*(2 * reach + 1)))) - reach) @ atoms.cell.array
        vectors = positions[None, :, None] - positions[:, None, None] + shifts
        squared = (vectors**2).sum(axis=-1)
        near = (squared < self.cutoff**2) & (squared > 0.0)
        return np.nonzero(near)[0], vectors[near]


def measured(calculator: Any, dataset: Dataset = MIXED, parameters: PhysicalityParameters = SMALL) -> Measurement:
    model = InProcessCalculator(calculator)
    observation = KIND.observe(dataset.structures, parameters, model, Watch(time.monotonic))
    return KIND.measure(observation, dataset, parameters, None)


def observed(
    calculator: Any, dataset: Dataset, parameters: PhysicalityParameters = SMALL
) -> tuple[Observation, Measurement]:
    model = InProcessCalculator(calculator)
    observation = KIND.observe(dataset.structures, parameters, model, Watch(time.monotonic))
    return observation, KIND.measure(observation, dataset, parameters, None)


def column(measurement: Measurement, item: str, name: str) -> float:
    return float(measurement.items.columns[name][list(measurement.items.id).index(item)])

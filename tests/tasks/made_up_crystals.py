"""Crystals with properties made up for a test, and models of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ase import Atoms
from ase.calculators.calculator import all_changes
from ase.calculators.lj import LennardJones
from ase.calculators.tersoff import Tersoff, TersoffParameters

from tasks.datasets.card import Card, Crystal, LabelSet, Table
from tasks.datasets.dataset import Dataset
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Predictions, Properties

# Tersoff's third potential of silicon, Phys. Rev. B 38, 9902 (1988), doi:10.1103/PhysRevB.38.9902.
SILICON = TersoffParameters(
    A=1830.8, B=471.18, lambda1=2.4799, lambda2=1.7322, lambda3=1.7322, beta=1.1e-6, gamma=1.0,
    m=3.0, n=0.78734, c=1.0039e5, d=16.217, h=-0.59825, R=2.85, D=0.15,
)  # fmt: skip


class Argon(LennardJones):
    """Smoothly cut Lennard-Jones argon, which keeps no neighbour list: the same bits after any other structure."""

    def __init__(self) -> None:
        super().__init__(sigma=3.4, epsilon=0.0104, rc=6.0, ro=5.4, smooth=True)

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        self.nl = None
        super().calculate(atoms, properties, system_changes)


class StresslessArgon(Argon):
    """An argon model without stress."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012


def silicon() -> Tersoff:
    return Tersoff({("Si", "Si", "Si"): SILICON})


class Counting(InProcessCalculator):
    """Records the numbers of atoms of each call, and takes one second per call."""

    def __init__(self, calculator: Any, max_atoms_per_batch: int = 20_000) -> None:
        super().__init__(calculator, max_atoms_per_batch)
        self.calls: list[tuple[int, ...]] = []

    def now(self) -> float:
        return float(len(self.calls))

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.calls.append(tuple(int(n) for n in frames.n_atoms))
        return super().compute(frames, properties)


def make_crystals(
    structures: Sequence[Atoms], reference: Sequence[Mapping[str, float]], **conditions: Sequence[float]
) -> Dataset:
    """A dataset in which structure i is a crystal with the properties `reference[i]` at "PBE"."""
    names = tuple(f"c{i}" for i in range(len(structures)))
    card = Card(
        name="made-up",
        version="1",
        title="Made up",
        domain="Inorganic Materials",
        periodic=bool(all(a.pbc.all() for a in structures)),
        label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)},
        default_label_set="PBE",
    )
    crystals = tuple(
        Crystal(id=name, structure=i, reference={"PBE": dict(properties)})
        for i, (name, properties) in enumerate(zip(names, reference, strict=True))
    )
    table = Table(id=names, group=("",) * len(names), cluster=names, crystals=crystals)
    arrays = {name: np.array(values, np.float64) for name, values in conditions.items()}
    return Dataset(card, Frames.from_atoms(structures), table, {}, arrays)

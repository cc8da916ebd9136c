"""Crystals whose phonons are computed, observed and measured."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.calculators.calculator import Calculator

from tasks.datasets.card import Card, Crystal, LabelSet, Table
from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import Observation, Watch
from tasks.kinds.phonons import PROPERTIES, Phonons, PhononsParameters
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.displaced_supercells import Supercells, read_supercells
from tasks.simulation.relaxation import Relaxation
from tasks.structures.frames import Frames

KIND = Phonons()
TIGHT = Relaxation(optimizer="BFGS", fmax=1e-5)
SETTINGS = PhononsParameters(relaxation=TIGHT, mesh=40.0)
QUICK = PhononsParameters(relaxation=Relaxation(optimizer="BFGS"), mesh=(6, 6, 6))
WATCH = Watch(time.monotonic)
FACE_CENTRED = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
IDENTITY = np.eye(3)
DOUBLED = 2 * np.eye(3, dtype=np.int64)
NAMES = [p.name for p in PROPERTIES]


class Case(NamedTuple):
    """A crystal with its supercell and primitive cell."""

    atoms: Atoms
    supercell: Any = DOUBLED
    primitive: Any = IDENTITY


def copper() -> Case:
    return Case(bulk("Cu", a=3.65, cubic=True), primitive=FACE_CENTRED)


def ordered_alloy() -> Case:
    """L1₂: gold at the corners, copper on the faces. Its cubic cell is primitive, with two inequivalent atoms."""
    atoms = bulk("Cu", a=3.8, cubic=True)
    atoms.symbols[0] = "Au"
    return Case(atoms)


def simple_cubic() -> Case:
    """Copper in an unstable structure."""
    return Case(Atoms("Cu", cell=2.4 * np.eye(3), pbc=True))


def structures(cases: Sequence[Case]) -> Structures:
    conditions = {
        "supercell": np.array([c.supercell for c in cases], np.int64),
        "primitive": np.array([c.primitive for c in cases], np.float64),
    }
    return Structures("made-up@1", Frames.from_atoms([c.atoms for c in cases]), conditions)


def dataset(cases: Sequence[Case], reference: Sequence[Sequence[float]]) -> Dataset:
    made, names = structures(cases), tuple(f"c{i}" for i in range(len(cases)))
    crystals = tuple(
        Crystal(id=name, structure=i, reference={"PBE": dict(zip(NAMES, row, strict=True))})
        for i, (name, row) in enumerate(zip(names, reference, strict=True))
    )
    card = Card(
        name="made-up",
        version="1",
        title="Made up",
        domain="Inorganic Materials",
        periodic=True,
        label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)},
        default_label_set="PBE",
    )
    table = Table(id=names, group=("",) * len(names), cluster=names, crystals=crystals)
    return Dataset(card, made.frames, table, {}, made.conditions)


METALS = [copper(), ordered_alloy(), simple_cubic()]


def observe(calculator: Calculator, cases: Sequence[Case], settings: PhononsParameters = SETTINGS) -> Observation:
    return KIND.observe(structures(cases), settings, InProcessCalculator(calculator), WATCH)


def measure(
    observation: Observation,
    cases: Sequence[Case],
    reference: Sequence[Sequence[float]] | None = None,
    settings: PhononsParameters = SETTINGS,
) -> Measurement:
    return KIND.measure(
        observation, dataset(cases, reference or [[300.0, 50.0, -5.0, 40.0]] * len(cases)), settings, None
    )


def numbers(measured: Measurement, row: int = 0) -> np.ndarray[Any, Any]:
    return np.array([measured.items.columns[name][row] for name in NAMES])


def answers(metals: Observation) -> dict[int, Supercells]:
    """The answers for each of `METALS`."""
    made = structures(METALS)
    return dict(read_supercells(metals, made.frames, made.conditions["supercell"]))

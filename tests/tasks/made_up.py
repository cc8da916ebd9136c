"""Datasets and models made up for a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from ase.calculators.calculator import Calculator, all_changes

from tasks.datasets.card import Card, LabelSet, Table
from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels


def make_dataset(frames: Frames, labels: Labels | None, **card: Any) -> Dataset:
    """A dataset of `frames`, labelled at "PBE" if there are labels."""
    names = tuple(f"f{i}" for i in range(len(frames)))
    label_sets = {"PBE": LabelSet(theory="PBE", dispersion=False)} if labels else {}
    stated = Card(
        name="made-up",
        version="1",
        title="Made up",
        domain="Inorganic Materials",
        periodic=bool(frames.periodic.all()),
        label_sets=label_sets,
        default_label_set="PBE" if labels else None,
        **card,
    )
    table = Table(id=names, group=("",) * len(frames), cluster=names)
    return Dataset(stated, frames, table, {"PBE": labels} if labels else {})


def observed(energy: Any, failure: Any | None = None, **arrays: Any) -> Observation:
    """The observation of a model that answered `energy` and `arrays`."""
    energy = np.asarray(energy, np.float64)
    code = np.zeros(len(energy), np.int8) if failure is None else np.asarray(failure, np.int8)
    return Observation({"energy": energy, "failure": code, **arrays})


StructureKey = tuple[bytes, bytes, int, int]


class Tabulated(Calculator):
    """An ASE calculator that answers from a table of energies [eV] by structure."""

    implemented_properties = ["energy"]  # noqa: RUF012

    def __init__(self, energies: Mapping[StructureKey, float]) -> None:
        super().__init__()
        self.table = energies

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        self.results = {"energy": self.table[structure_key(atoms)]}


def structure_key(atoms: Any) -> StructureKey:
    """The identity of a structure: elements, positions, charge and multiplicity."""
    state = int(atoms.info.get("charge", 0)), int(atoms.info.get("spin", 0))
    return atoms.numbers.astype(np.int64).tobytes(), atoms.positions.tobytes(), *state

"""Small systems with exact answers, and models of them, for tests of the kind *dynamics*."""

from __future__ import annotations

from typing import Any

import numpy as np
from ase import Atoms

from tasks.datasets.card import Card, LabelSet, Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Predictions, Properties

LABEL_SET = "exact"


def dataset_of(structures: list[Atoms], analyses: list[list[dict[str, Any]]], **conditions: Any) -> Dataset:
    """A data set with a system for each structure, called s0, s1, …"""
    names = tuple(f"s{i}" for i in range(len(structures)))
    rows = [
        SimulatedSystem.model_validate({"id": names[i], "structure": i, "analyses": analyses[i]})
        for i in range(len(structures))
    ]
    card = Card(
        name="simulated",
        version="1",
        title="Simulated",
        domain="Molecules",
        periodic=all(bool(atoms.pbc.all()) for atoms in structures),
        label_sets={LABEL_SET: LabelSet(theory="exact", dispersion=False)},
        default_label_set=LABEL_SET,
    )
    table = Table(id=names, group=("",) * len(names), cluster=names, systems=tuple(rows))
    return Dataset(card, Frames.from_atoms(structures), table, {}, conditions)


class Bonds:
    """A model of springs between atoms 2i and 2i + 1, of `length` [Å]; keeps nothing from step to step.

    Args:
        nan_at: the call at which the energy of the first structure is NaN.
        kick_at: the call at which the first structure gets forces of 1e4 eV/Å.
        still: no force acts.
        loose: the springs of the first structure are weaker by a factor of 10,000.
    """

    properties: Properties = ("energy", "forces")
    max_atoms_per_batch = 100_000

    def __init__(
        self,
        length: float = 1.0,
        stiffness: float = 20.0,
        nan_at: int = -1,
        kick_at: int = -1,
        still: bool = False,
        loose: bool = False,
    ) -> None:
        self.length, self.stiffness = length, stiffness
        self.nan_at, self.kick_at, self.still, self.loose = nan_at, kick_at, still, loose
        self.batches: list[Frames] = []

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        if (frames.n_atoms % 2).any():  # a question of `LockstepRun.refresh`
            return Predictions.checked(frames, np.zeros(len(frames)), np.zeros_like(frames.positions), None, {})
        self.batches.append(frames)
        cell = np.repeat(frames.cell, frames.n_atoms, axis=0)[0::2]
        vectors = frames.positions[1::2] - frames.positions[0::2]
        box = np.einsum("nii->ni", cell)
        vectors -= box * np.rint(vectors / np.where(box > 0, box, np.inf))
        lengths = np.linalg.norm(vectors, axis=1)
        excess = lengths - self.length
        stiffness = np.full(len(excess), self.stiffness)
        stiffness[: frames.n_atoms[0] // 2] *= 1e-4 if self.loose else 1.0
        pull: Float = (stiffness * excess / lengths)[:, None] * vectors
        forces = np.empty_like(frames.positions)
        forces[0::2], forces[1::2] = pull, -pull
        per_bond = 0.5 * stiffness * excess**2
        energy = np.add.reduceat(per_bond, frames.offsets[:-1] // 2)
        if len(self.batches) == self.nan_at:
            energy[0] = np.nan
        if len(self.batches) == self.kick_at:
            forces[: frames.n_atoms[0]] = 1e4 * np.sign(forces[: frames.n_atoms[0]])
        if self.still:
            forces = np.zeros_like(forces)
        return Predictions.checked(frames, energy, forces, None, {})


def diatomics(n: int, side: float = 12.0, length: float = 1.0) -> Atoms:
    """n diatomic molecules of nitrogen on a grid in a periodic cube."""
    per_side = int(np.ceil(n ** (1 / 3)))
    grid = np.indices((per_side,) * 3).reshape(3, -1).T[:n] * side / per_side
    positions = np.concatenate([grid[:, None], grid[:, None] + np.array([length, 0, 0])], axis=1).reshape(-1, 3)
    return Atoms(f"N{2 * n}", positions, cell=[side] * 3, pbc=True)

"""Two small data sets, their suite, and models for them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT

from tasks.datasets.card import Card, LabelSet, Table
from tasks.datasets.dataset import Dataset, save_dataset
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels
from tests.world.commands import ROOT

EMT_FOLDER = ROOT / "submissions" / "examples" / "emt"

SLOW_EMT = """
import time
from ase.calculators.emt import EMT

class SlowEMT(EMT):
    def calculate(self, *args, **kwargs):
        time.sleep({seconds})
        super().calculate(*args, **kwargs)

def make_calculator():
    return SlowEMT()
"""

SUITE = """
name = "small"
version = "1"
title = "A small suite"

[[tasks]]
name = "copper"
kind = "labelled_frames"
dataset = "copper@1"
domain = "Inorganic Materials"
time_limit_s = 60

[[tasks]]
name = "nickel"
kind = "labelled_frames"
dataset = "nickel@1"
domain = "Inorganic Materials"
time_limit_s = 60
"""


def rattled(element: str, n_frames: int, seed: int) -> list[Atoms]:
    """Cells of eight atoms of `element` with random displacements and strains."""
    rng = np.random.default_rng(seed)
    frames = []
    for _ in range(n_frames):
        atoms = bulk(element, cubic=True).repeat((2, 1, 1))
        atoms.set_cell(atoms.cell * rng.uniform(0.97, 1.03), scale_atoms=True)
        atoms.positions += rng.normal(0, 0.05, atoms.positions.shape)
        frames.append(atoms)
    return frames


def labelled(element: str, n_frames: int) -> list[Atoms]:
    """Cells as those of `rattled`, with the energies and forces of EMT."""
    frames = rattled(element, n_frames, seed=1)
    for atoms in frames:
        atoms.calc = EMT()
        atoms.get_potential_energy()
    return frames


def save_frames(data: Path, element: str, name: str, n_frames: int = 6, shift: float = 0.0, citation: str = "") -> None:
    """Writes `name`@1 with labels of EMT, each force off by `shift` [eV/Å]; replaces an earlier one."""
    structures = rattled(element, n_frames, seed=len(name))
    energy, forces, stress = [], [], []
    for atoms in structures:
        atoms.calc = EMT()
        energy.append(atoms.get_potential_energy())
        forces.append(atoms.get_forces() + shift)
        stress.append(atoms.get_stress())
    card = Card(
        name=name,
        version="1",
        title=f"Rattled {name}",
        domain="Inorganic Materials",
        periodic=True,
        citation=citation,
        public_since="2026",  # a public data set: each structure is asked once
        default_label_set="EMT",
        label_sets={"EMT": LabelSet(theory="ASE's EMT", dispersion=False)},
    )
    ids = tuple(f"{name}-{i}" for i in range(n_frames))
    table = Table(id=ids, group=(name,) * n_frames, cluster=ids)
    labels = Labels(np.array(energy), np.concatenate(forces), np.array(stress))
    shutil.rmtree(data / f"{name}@1", ignore_errors=True)
    save_dataset(Dataset(card, Frames.from_atoms(structures), table, {"EMT": labels}), data)

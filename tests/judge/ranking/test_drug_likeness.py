"""Which structures are drug-like molecules."""

from __future__ import annotations

import numpy as np
from ase import Atoms
from ase.build import bulk, molecule

from judge.ranking.drug_likeness import drug_like
from tasks.structures.frames import Frames
from tests.judge.pages.choice_site import drug


def replaced(symbol: str, by: str) -> Atoms:
    atoms = drug()
    atoms.symbols[[atom.index for atom in atoms if atom.symbol == symbol]] = by
    return atoms


def test_mass_size_elements_and_bonds_decide() -> None:
    """A molecule of 194 u and 39 atoms is drug-like; not if it is cut in two, heavier, or without N and O."""
    apart, periodic = drug(), drug()
    apart.positions[apart.positions[:, 0] > 5.5] += (9.0, 0.0, 0.0)
    periodic.cell, periodic.pbc = np.eye(3) * 20.0, True
    cases = [
        (drug(), True),
        (replaced("O", "S"), True),
        (apart, False),
        (periodic, False),
        (replaced("N", "Si"), False),
        (replaced("N", "I"), False),  # 420 u, and with one more iodine 530 u
        (molecule("C6H6"), False),
        (bulk("Cu"), False),
    ]
    cases[5][0].symbols[0] = "I"
    frames = Frames.from_atoms([atoms for atoms, _ in cases])
    assert drug_like(frames).tolist() == [expected for _, expected in cases]
    hydrocarbon = replaced("N", "C")
    hydrocarbon.symbols[[atom.index for atom in hydrocarbon if atom.symbol == "O"]] = "C"
    assert drug_like(Frames.from_atoms([hydrocarbon])).tolist() == [False]

"""Structures with labels of EMT, and the card of their data set."""

from __future__ import annotations

from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.emt import EMT

from tasks.datasets.card import Card, LabelSet

CARD = Card(
    name="mine", version="1", title="Mine", domain="Molecules", periodic=False,
    label_sets={"EMT": LabelSet(theory="EMT", dispersion=False)}, default_label_set="EMT",
)  # fmt: skip


def structures(n: int = 40) -> list[Atoms]:
    """Crystals of copper, and molecules with 2S+1 stated, labelled by EMT."""
    made = []
    for i in range(n):
        atoms = bulk("Cu", cubic=True) if i % 2 == 0 else molecule("CO")
        atoms.rattle(0.05 + 0.002 * i, seed=i)
        atoms.calc = EMT()
        atoms.get_forces()
        if i % 2 == 0:
            atoms.get_stress()
        else:
            atoms.info |= {"charge": 1, "multiplicity": 2, "group": "small"}
        made.append(atoms)
    return made


ONE = '1\nProperties=species:S:1:pos:R:3{more} pbc="{pbc}" {info}\nH 0 0 {z}{values}\n'


def xyz(z: str = "0", info: str = "energy=1.0", more: str = "", values: str = "", pbc: str = "F F F") -> str:
    return ONE.format(z=z, info=info, more=more, values=values, pbc=pbc)

"""The quickstart dataset of reaction paths: ammonia turns inside out, and methyl groups turn by 120°."""

from __future__ import annotations

import numpy as np
from ase import Atoms
from ase.build import molecule
from ase.units import invcm

from tasks.datasets.card import MinimumEnergyPath, PathReference
from tasks.datasets.dataset import Dataset
from tasks.datasets.path_roles import PathRole
from tasks.quickstart.dataset import Named, dataset_of, stated_card
from tasks.quickstart.molecules import MEASURED, ROTORS, turned

AMMONIA_PER_CM = 2018.0
# [°] of a methyl group: one minimum, the next, and halfway: a straight line would take the hydrogens through the axis.
TURNS = (0.0, 120.0, 60.0)
ROLES = (PathRole.REACTANT, PathRole.PRODUCT, PathRole.GUESS)


def build_paths() -> Dataset:
    """One path a molecule, between two minima of one energy."""
    reactions: list[tuple[str, str, tuple[Atoms, ...], float]] = [
        ("ammonia", "inversion", _inversion(), AMMONIA_PER_CM)
    ]
    reactions += [
        (r.name, "methyl rotor", tuple(turned(r.formula, angle) for angle in TURNS), r.v3_per_cm) for r in ROTORS
    ]
    structures, rows, numbers, roles = [], [], list[int](), list[int]()
    for number, (name, group, stages, barrier) in enumerate(reactions):
        reference = {MEASURED: PathReference(barrier=barrier * invcm)}
        rows.append(MinimumEnergyPath(id=name, group=group, cluster=name, path=number, reference=reference))
        for role, atoms in zip(ROLES, stages, strict=False):  # ammonia needs no guess
            structures.append(Named(f"{name}: {role.name.lower()}", group, atoms, name))
            numbers.append(number)
            roles.append(int(role))
    conditions = {"path": np.array(numbers), "role": np.array(roles)}
    return dataset_of(stated_card("paths"), structures, paths=rows, conditions=conditions)


def _inversion() -> tuple[Atoms, ...]:
    """Ammonia, and its mirror image in a plane across its axis."""
    made = molecule("NH3")
    ends = tuple(Atoms(made.numbers, made.positions * (1.0, 1.0, sign)) for sign in (1.0, -1.0))
    for atoms in ends:
        atoms.info["spin"] = 1
    return ends

"""Structures as calculators get them: the one place where an `Atoms` gets its charge, its spin and its moments.

A state is stated whole: every structure has both `atoms.info["charge"]` (total charge in e) and `atoms.info["spin"]`
(2S+1), as integers, 0 and 1 included. If a data set does not state 2S+1:

- a structure with no periodic direction, and every structure in the domain Molecules, has the lowest 2S+1 that fits its
  number of electrons: 1 if that is even, 2 if it is odd;
- any other structure has spin 0, which means "not stated", as models of several domains were trained on crystals.

This file is packed beside the guest: the standard library, numpy and ASE only, Python 3.9.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Tuple

import numpy as np
from ase import Atoms

MOLECULES = "Molecules"
INPUTS = ("initial_magmoms",)  # arrays of a question that may be absent


class Identity(NamedTuple):
    """What tells a structure from the one before, as bytes, and its state (charge, spin)."""

    numbers: bytes
    cell: bytes
    pbc: bytes
    state: Tuple[int, int]
    moments: bytes


def make_atoms(
    frames: Mapping[str, Any], index: int, start: int, stop: int, domain: str = ""
) -> Tuple[Atoms, Identity]:
    """Structure `index` as a new `Atoms`, and its identity.

    Args:
        frames: arrays n_atoms, numbers, positions, cell, pbc, charge, multiplicity as in `Frames`; optional:
            initial_magmoms (N,) [μB], NaN for every atom of a structure that has none.
        start, stop: its atoms in the arrays of atoms.
        domain: that the model is asked in; empty if it has none.
    """
    numbers = frames["numbers"][start:stop]
    cell = frames["cell"][index]
    pbc = frames["pbc"][index]
    atoms = Atoms(numbers=numbers, positions=frames["positions"][start:stop], cell=cell, pbc=pbc)
    charge, spin = int(frames["charge"][index]), int(frames["multiplicity"][index])
    directions = pbc.tobytes()
    if not spin and (b"\x01" not in directions or domain == MOLECULES):
        spin = lowest_spin(numbers, charge)
    atoms.info["charge"] = charge
    atoms.info["spin"] = spin
    moments = b"" if "initial_magmoms" not in frames else _set_moments(atoms, frames["initial_magmoms"][start:stop])
    return atoms, Identity(numbers.tobytes(), cell.tobytes(), directions, (charge, spin), moments)


def lowest_spin(numbers: Any, charge: int) -> int:
    """The lowest 2S+1 of a structure: 1 for an even number of electrons, 2 for an odd one.

    Args:
        numbers: (n,) atomic numbers.
    """
    return 1 + (int(np.add.reduce(numbers)) - charge) % 2


def _set_moments(atoms: Atoms, moments: Any) -> bytes:
    if not np.isfinite(moments).all():
        return b""
    atoms.set_initial_magnetic_moments(moments)
    return bytes(moments.tobytes())

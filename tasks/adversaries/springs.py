"""Springs of one constant for all elements, about geometries that only the questions tell.

Each atom is bound to its place by a spring, less the motion of all atoms together. A crystal is an isotropic solid
beside: W = V₀ [λ/2 (tr E)² + μ E:E] with Green's strain E (J. F. Nye, Physical Properties of Crystals, 1957; of finite
strain: R. W. Ogden, Non-Linear Elastic Deformations, 1984). V₀ has no vacuum: layers and chains would be too stiff for
an optimiser.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from ase import Atoms
from ase.units import GPa

from tasks.adversaries.question_only import QuestionOnly
from tasks.structures.frames import Float, Frames

SPRING = 5.0  # eV/Å², of every atom
BULK_MODULUS, POISSON = 80.0 * GPa, 0.3
SHEAR_MODULUS = 3 * BULK_MODULUS * (1 - 2 * POISSON) / (2 * (1 + POISSON))
LAME = BULK_MODULUS - 2 / 3 * SHEAR_MODULUS
ROOM = 30.0  # Å³: what is more for an atom of a cell is vacuum, which is not elastic
# A question about the same atoms farther than this from all known geometries is about another structure. Atoms [Å] in
# the root mean square, cells relative.
NEAR, NEAR_CELL = 0.8, 0.2


class Place(NamedTuple):
    """A geometry: positions (N, 3) [Å], relative to the cell of a crystal; and its cell (3, 3) [Å], None of others."""

    positions: Float
    cell: Float | None

    @classmethod
    def of(cls, atoms: Atoms) -> Place:
        """The geometry of `atoms`."""
        if not atoms.pbc.all():
            return cls(atoms.positions.copy(), None)
        return cls(atoms.positions @ np.linalg.inv(atoms.cell.array), atoms.cell.array.copy())

    def away(self, other: Place) -> Float:
        """(N, 3) [Å] how far the atoms of `other` are from these, without the motion of all together."""
        difference = other.positions - self.positions
        if other.cell is not None:
            difference = difference - difference[0]  # or else atoms half a cell away would go different ways
            difference = (difference - np.round(difference)) @ other.cell
        return np.asarray(difference - difference.mean(axis=0))

    def distance(self, other: Place) -> float:
        """Root mean square of `away`, in `NEAR`, and of the strain, in `NEAR_CELL`: above 1 is another structure."""
        if (self.cell is None) is not (other.cell is None):
            return np.inf
        strain = 0.0
        if self.cell is not None and other.cell is not None:
            strain = float(np.abs(np.linalg.solve(self.cell, other.cell) - np.eye(3)).max())
        return float(max(np.sqrt((self.away(other) ** 2).sum(axis=1).mean()) / NEAR, strain / NEAR_CELL))


class Places:
    """Known geometries, by the atoms."""

    def __init__(self, structures: Iterable[Atoms] = ()) -> None:
        self._known: dict[bytes, list[Place]] = {}
        for atoms in structures:
            self.add(atoms, Place.of(atoms))

    def of(self, atoms: Atoms) -> list[Place]:
        """Those of the same atoms in the same order."""
        return self._known.get(_key(atoms), [])

    def add(self, atoms: Atoms, place: Place) -> None:
        """Notes a geometry of the elements of `atoms`."""
        self._known.setdefault(_key(atoms), []).append(place)

    def nearest(self, atoms: Atoms) -> tuple[int, Place] | None:
        """The nearest of them and its number; None if there is none near."""
        asked, known = Place.of(atoms), self.of(atoms)
        distances = [place.distance(asked) for place in known]
        if not distances or min(distances) > 1:
            return None
        index = int(np.argmin(distances))
        return index, known[index]


def _key(atoms: Atoms) -> bytes:
    return np.concatenate([np.asarray(atoms.numbers, np.int64), atoms.pbc.astype(np.int64)]).tobytes()


class Springs(QuestionOnly):
    """Springs about the first geometry that it is asked about.

    Args:
        forces, stress: False: it answers zero, beside the energy of the springs.
    """

    def __init__(self, *, forces: bool = True, stress: bool = True) -> None:
        super().__init__()
        self._shown = (forces, stress)
        self._first, self._targets = Places(), Places()

    def target(self, atoms: Atoms) -> Place:
        """Where the springs of a structure pull that is asked about for the first time."""
        return Place.of(atoms)

    def remember(self, atoms: Atoms) -> None:
        if self._first.nearest(atoms) is None:
            self._first.add(atoms, Place.of(atoms))
            self._targets.add(atoms, self.target(atoms))

    def answer(self, atoms: Atoms) -> tuple[float, Float, Float]:
        found = self._first.nearest(atoms)
        if found is None:
            return super().answer(atoms)
        energy, forces, stress = spring_answer(atoms, self._targets.of(atoms)[found[0]])
        shows_forces, shows_stress = self._shown
        return energy, forces if shows_forces else 0.0 * forces, stress if shows_stress else 0.0 * stress


class NearestStored(QuestionOnly):
    """Springs about the nearest structure of a public copy of the data set.

    Args:
        stored: the structures of the data set.
    """

    def __init__(self, stored: Frames) -> None:
        super().__init__()
        self._stored = Places(stored.atoms(i) for i in range(len(stored)))

    def answer(self, atoms: Atoms) -> tuple[float, Float, Float]:
        found = self._stored.nearest(atoms)
        return super().answer(atoms) if found is None else spring_answer(atoms, found[1])


class KnownSeed(Springs):
    """Springs about the first geometry, less the displacement that it would have without a secret.

    Args:
        stored: the structures of the data set.
        asked: the first questions about them that follow from public code alone.
    """

    def __init__(self, stored: Frames, asked: Frames) -> None:
        super().__init__()
        self._stored = Places(stored.atoms(i) for i in range(len(stored)))
        self._moves = Places()  # the questions, beside the structures that they are about
        self._origins = Places()
        for i in range(len(asked)):
            atoms = asked.atoms(i)
            found = self._stored.nearest(atoms)
            if found is not None:
                self._moves.add(atoms, Place.of(atoms))
                self._origins.add(atoms, found[1])

    def target(self, atoms: Atoms) -> Place:
        found, asked = self._moves.nearest(atoms), Place.of(atoms)
        if found is None:
            return asked
        index, moved = found
        origin = self._origins.of(atoms)[index]
        positions = asked.positions - (moved.positions - origin.positions)
        if asked.cell is None or moved.cell is None or origin.cell is None:
            return Place(positions, None)
        return Place(positions, asked.cell @ np.linalg.solve(moved.cell, origin.cell))


def spring_answer(atoms: Atoms, target: Place) -> tuple[float, Float, Float]:
    """Energy [eV], forces (N, 3) [eV/Å] and stress (6,) [eV/Å³, Voigt] of springs about `target`."""
    away = target.away(Place.of(atoms))
    energy, stress = 0.5 * SPRING * float((away**2).sum()), np.zeros((3, 3))
    if target.cell is not None:
        deformation = np.linalg.solve(target.cell, atoms.cell.array)  # of row vectors
        strain = 0.5 * (deformation @ deformation.T - np.eye(3))
        volume, trace = abs(np.linalg.det(target.cell)), float(np.trace(strain))
        filled = min(volume, ROOM * len(atoms))
        energy += filled * (0.5 * LAME * trace**2 + SHEAR_MODULUS * float((strain**2).sum()))
        piola = LAME * trace * np.eye(3) + 2 * SHEAR_MODULUS * strain
        stress = filled / volume * (deformation.T @ piola @ deformation) / abs(np.linalg.det(deformation))
        stress = stress + SPRING * away.T @ away / atoms.get_volume()
    return energy, -SPRING * away, stress[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]]

"""Pairs of atoms with their energy over the distance: the items of the kind *diatomics*."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Self

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from tasks.datasets.card_parts import CardPart, Index, Positive, TableItem
from tasks.structures.frames import Float, Frames

FEWEST_POINTS = 5


class DiatomicReference(CardPart):
    """The curve of a pair at the reference.

    Args:
        distances: [Å], increasing.
        energies: [eV], one a distance, counted from any zero.
        forces: that drive the two atoms apart [eV/Å], one a distance, negative if they attract; empty: there are none.
    """

    distances: tuple[Positive, ...] = Field(min_length=FEWEST_POINTS)
    energies: tuple[FiniteFloat, ...]
    forces: tuple[FiniteFloat, ...] = ()

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if any(b <= a for a, b in pairwise(self.distances)):
            raise ValueError("distances must increase")
        for name, values in (("energies", self.energies), ("forces", self.forces or self.energies)):
            if len(values) != len(self.distances):
                raise ValueError(f"{name} has {len(values)} entries for {len(self.distances)} distances")
        return self


class Diatomic(TableItem):
    """A pair of atoms, at increasing distances.

    Args:
        structures: of two atoms each.
        reference: by label set; a pair may have none.
    """

    structures: tuple[Index, ...] = Field(min_length=FEWEST_POINTS)
    reference: dict[str, DiatomicReference]


def bond_vectors(frames: Frames, structures: Sequence[int]) -> Float:
    """(k, 3) from the first to the second atom [Å] of k structures with two atoms each."""
    first = frames.offsets[list(structures)]
    return np.asarray(frames.positions[first + 1] - frames.positions[first])

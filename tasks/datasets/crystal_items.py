"""Items that are crystals, with their references: equations of state, properties, thermal conductivities."""

from __future__ import annotations

import math
from typing import Self

from pydantic import Field, FiniteFloat, PositiveInt, model_validator

from tasks.datasets.card_parts import CardPart, Index, Positive, TableItem, later

# Published modes are rounded to ten decimals.
KAPPA_TOLERANCE = 1e-4


class CurveReference(CardPart):
    """Parameters of an equation of state at zero pressure.

    Args:
        v0_per_atom: equilibrium volume [Å³/atom].
        b0_gpa: bulk modulus [GPa].
        b0_prime: its pressure derivative.
        e0_per_atom: energy at v0_per_atom [eV/atom], from any zero that all curves of a group share; None: not known.
    """

    v0_per_atom: Positive
    b0_gpa: Positive
    b0_prime: FiniteFloat
    e0_per_atom: FiniteFloat | None = later(None)


class Curve(TableItem):
    """An equation of state: the structures along the curve, and its parameters by label set.

    Args:
        group: with `e0_per_atom`, curves of one group are phases of one substance.
        equals: by label set and name (of a code), references of equal standing, whose mean is `reference`; absent:
            there is one reference.
    """

    structures: tuple[Index, ...] = Field(min_length=5)
    reference: dict[str, CurveReference]
    equals: dict[str, dict[str, CurveReference]] = later({})


class Bands(CardPart):
    """The frequencies of a crystal at wave vectors.

    Args:
        qpoints: in reciprocal vectors of the primitive cell.
        weights: by wave vector, its multiplicity in a mesh.
        frequencies: by wave vector [THz], in ascending order; imaginary ones are negative.
    """

    qpoints: tuple[tuple[FiniteFloat, FiniteFloat, FiniteFloat], ...] = Field(min_length=1)
    weights: tuple[PositiveInt, ...]
    frequencies: tuple[tuple[FiniteFloat, ...], ...]

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if not len(self.qpoints) == len(self.weights) == len(self.frequencies):
            raise ValueError("qpoints, weights and frequencies must have an entry for each wave vector")
        if len({len(row) for row in self.frequencies}) > 1 or any(list(row) != sorted(row) for row in self.frequencies):
            raise ValueError("frequencies must be in ascending order, as many at each wave vector")
        return self


class Crystal(TableItem):
    """Properties of one structure, by label set and name (`k_vrh_gpa`, `volume_per_atom`) as the kinds need them.

    Args:
        uncertainty: of references, as their authors state it; absent: it is not known.
        bands: by label set, its frequencies, for the kind *phonons*.
    """

    structure: Index
    reference: dict[str, dict[str, FiniteFloat]]
    uncertainty: dict[str, dict[str, Positive]] = later({})
    bands: dict[str, Bands] = later({})


class ConductivityReference(CardPart):
    """The thermal conductivity of a crystal at the reference, by phonon mode if that is known.

    Args:
        kappa: mean of xx, yy and zz [W/m/K].
        weights: by irreducible wave vector of the mesh, its multiplicity; empty: modes are not known.
        modes: by irreducible wave vector, the contribution of each band times the multiplicity [W/m/K]; their sum over
            the sum of the weights is `kappa`.
    """

    kappa: Positive
    weights: tuple[PositiveInt, ...] = ()
    modes: tuple[tuple[FiniteFloat, ...], ...] = ()

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if len(self.modes) != len(self.weights):
            raise ValueError(f"modes has {len(self.modes)} rows for {len(self.weights)} weights")
        if len({len(row) for row in self.modes}) > 1:
            raise ValueError("modes must have as many bands at each wave vector")
        total = sum(map(sum, self.modes)) / sum(self.weights) if self.modes else self.kappa
        if not math.isclose(total, self.kappa, rel_tol=KAPPA_TOLERANCE):
            raise ValueError(f"modes: their sum over that of the weights is {total:.6g}, not kappa, {self.kappa:.6g}")
        return self


class Conductivity(TableItem):
    """A crystal whose thermal conductivity is computed, with its reference by label set."""

    structure: Index
    reference: dict[str, ConductivityReference]

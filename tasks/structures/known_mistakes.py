"""The known mistakes of energies, forces and stress: of unit, sign, size and order of components; and one fit of them.

Values v, of a model or a file, are compared with the values e that they should have: v ≈ f · e. The factor f names the
unit, and its sign. An energy per atom or a virial has a factor for each structure. An order of components rearranges e.
The preflight of a model and `judge data verify --with` both read this list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import permutations
from typing import NamedTuple

import numpy as np
from ase import units

from tasks.structures.frames import Float, Frames
from tasks.structures.units import ENERGY_UNITS, SURFACE_UNITS

ENERGY_PER_ATOM = "an energy per atom"
VIRIAL = "a virial, not divided by the volume"
ASE_UNITS = ("eV", "eV/Å", "eV/Å³")
OPPOSITE_SIGN = "the opposite sign"


class UnitMistake(NamedTuple):
    """One unit that is taken for another.

    Args:
        wrong: the unit that the numbers are in.
        right: the unit that they are taken for.
        factor: by which the numbers are then too large.
    """

    wrong: str
    right: str
    factor: float

    @property
    def inverse(self) -> UnitMistake:
        """The opposite mistake."""
        return UnitMistake(self.right, self.wrong, 1.0 / self.factor)

    def words(self) -> str:
        """`hartree taken for eV (1/27.2114)`."""
        shown = f"{self.factor:.6g}" if self.factor >= 1 else f"1/{1 / self.factor:.6g}"
        return f"{self.wrong} taken for {self.right} ({shown})"


_ENERGIES = {**ENERGY_UNITS, "rydberg": units.Rydberg}
_LENGTHS = {"Å": 1.0, "bohr": units.Bohr, "nm": units.nm}
_FORCES = {f"{e}/{x}": energy / length for e, energy in _ENERGIES.items() for x, length in _LENGTHS.items()}
_STRESSES = {
    "eV/Å³": 1.0,
    "hartree/bohr³": units.Hartree / units.Bohr**3,
    "GPa": units.GPa,
    "kbar": 1e3 * units.bar,
    "bar": units.bar,
    "Pa": units.Pascal,
}


def _mistakes(sizes: Mapping[str, float], *pairs: tuple[str, str]) -> tuple[UnitMistake, ...]:
    return tuple(UnitMistake(wrong, right, sizes[right] / sizes[wrong]) for wrong, right in pairs)


_OF_ENERGIES = _mistakes(
    _ENERGIES, ("eV", "hartree"), ("eV", "rydberg"), ("kcal/mol", "eV"), ("kJ/mol", "eV"), ("meV", "eV")
)
_OF_SUMS = (
    *_OF_ENERGIES,
    *_mistakes(_ENERGIES, ("kcal/mol", "hartree"), ("kJ/mol", "kcal/mol"), ("meV", "kcal/mol"), ("meV", "hartree")),
)
_PER_AREA = (
    *_mistakes(SURFACE_UNITS, ("mJ/m²", "J/m²"), ("meV/Å²", "eV/Å²"), ("J/m²", "eV/Å²"), ("mJ/m²", "meV/Å²")),
    UnitMistake("the area of one surface", "that of both", 2.0),
)
# By quantity. The numbers may have either unit of a pair.
UNIT_MISTAKES: Mapping[str, tuple[UnitMistake, ...]] = {
    "energy": _OF_ENERGIES,
    "differences": _OF_SUMS,
    "scans": _OF_SUMS,
    "differences per area": _PER_AREA,
    "scans per area": _PER_AREA,
    "forces": _mistakes(
        _FORCES,
        ("eV/Å", "hartree/bohr"),
        ("eV/Å", "rydberg/bohr"),
        ("eV/Å", "hartree/Å"),
        ("eV/Å", "eV/bohr"),
        ("eV/nm", "eV/Å"),
        ("kcal/mol/Å", "eV/Å"),
        ("kJ/mol/Å", "eV/Å"),
        ("kJ/mol/nm", "eV/Å"),
        ("meV/Å", "eV/Å"),
    ),
    "stress": _mistakes(
        _STRESSES,
        ("GPa", "eV/Å³"),
        ("kbar", "eV/Å³"),
        ("bar", "eV/Å³"),
        ("Pa", "eV/Å³"),
        ("kbar", "GPa"),
        ("eV/Å³", "hartree/bohr³"),
    ),
}


class SizeMistake(NamedTuple):
    """Numbers that are wrong by a factor of each structure's own.

    Args:
        wrong, right: as of `UnitMistake`.
        factors: (n,) by which the numbers of each structure are then too large.
    """

    wrong: str
    right: str
    factors: Callable[[Frames], Float]


SIZE_MISTAKES: Mapping[str, tuple[SizeMistake, ...]] = {
    "energy": (SizeMistake("energies per atom", "totals", lambda frames: 1.0 / frames.n_atoms),),
    "stress": (SizeMistake("virials, not divided by the volume,", "stress", lambda frames: frames.volumes),),
}

Order = tuple[int, ...]
AS_ASKED: Order = (0, 1, 2, 3, 4, 5)
_VOIGT = ("xx", "yy", "zz", "yz", "xz", "xy")
# All orders of the shear components, and the rows of the upper triangle. The first is the right one.
STRESS_ORDERS: tuple[Order, ...] = (*((0, 1, 2, *shear) for shear in permutations((3, 4, 5))), (0, 5, 4, 1, 3, 2))


def order_words(order: Order) -> str:
    """`the order xx yy zz xy yz xz in place of xx yy zz yz xz xy`."""
    names, right = (" ".join(_VOIGT[i] for i in some) for some in (order, AS_ASKED))
    return f"the order {names} in place of {right}"


class FactorFit(NamedTuple):
    """How values follow what is expected of them, about zero; NaN if one side is zero or not finite.

    Args:
        slope: Σ v e / Σ e², the least-squares factor.
        correlation: Σ v e / √(Σ v² Σ e²).
        ratio: √(Σ v² / Σ e²), the factor without attenuation by noise.
    """

    slope: float
    correlation: float
    ratio: float

    @property
    def residual(self) -> float:
        """The share of the values that the slope leaves unexplained; infinite if there is no fit."""
        return math.sqrt(max(0.0, 1.0 - self.correlation**2)) if math.isfinite(self.correlation) else math.inf


def fit(values: Float, expected: Float) -> FactorFit:
    """The fit of values and expected values of one shape."""
    v, e = values.ravel(), expected.ravel()
    vv, ve, ee = float(v @ v), float(v @ e), float(e @ e)
    if not (0.0 < vv < math.inf and 0.0 < ee < math.inf):  # also if one of them is NaN
        return FactorFit(math.nan, math.nan, math.nan)
    return FactorFit(ve / ee, ve / math.sqrt(vv) / math.sqrt(ee), math.sqrt(vv) / math.sqrt(ee))


def both_ways(quantity: str) -> tuple[UnitMistake, ...]:
    """Every mistake of unit of a quantity, each in both directions."""
    known = UNIT_MISTAKES[quantity]
    return (*known, *(mistake.inverse for mistake in known))


def nearest(mistakes: Iterable[UnitMistake], ratio: float) -> list[tuple[float, UnitMistake]]:
    """The mistakes with their distances |ln(ratio / factor)|, the nearest first."""
    return sorted(
        ((abs(math.log(ratio / mistake.factor)), mistake) for mistake in mistakes), key=lambda found: found[0]
    )


def values_by_order(values: Float, order: Order) -> Float:
    """(k, 6) values that come in an `order` of components, in the right order."""
    return np.asarray(values[:, np.argsort(order)])

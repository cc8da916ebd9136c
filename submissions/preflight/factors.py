"""Names the mistake behind a constant factor between what a model answers and what its own energies say.

A model whose stress is 160.2 times (1/V) dE/dε answers in GPa. A wrong order of components is found the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations
from typing import NamedTuple

import numpy as np
from ase import units

from tasks.structures.frames import Float

LARGEST_RESIDUAL = 0.03  # share of the answer that a factor may leave unexplained
TOLERANCE = 0.02  # of a factor
UNNAMED = 0.1  # a factor this close to 1 is no mistake of units

_MOLAR = {"kcal/mol": units.kcal / units.mol, "kJ/mol": units.kJ / units.mol}
_ENERGIES = {"hartree": units.Hartree, "Rydberg": units.Rydberg, **_MOLAR, "meV": 1e-3}

# What the answer is times the expected value, by words that follow "looks like".
FORCE_FACTORS: Mapping[str, float] = {
    "hartree/bohr": units.Bohr / units.Hartree,
    "Rydberg/bohr": units.Bohr / units.Rydberg,
    "eV/bohr": units.Bohr,
    "eV/nm": 10.0,
    "meV/Å": 1000.0,
    "kJ/mol/nm": 10.0 / _MOLAR["kJ/mol"],
    **{f"{name}/Å": 1.0 / size for name, size in _MOLAR.items()},
    **{f"an energy in {name}": size for name, size in _ENERGIES.items()},
}
STRESS_FACTORS: Mapping[str, float] = {
    "GPa": 1.0 / units.GPa,
    "kbar": 10.0 / units.GPa,
    "bar": 1e4 / units.GPa,
    "Pa": 1.0 / units.Pascal,
    "hartree/bohr³": units.Bohr**3 / units.Hartree,
}

Order = tuple[int, ...]
AS_ASKED: Order = (0, 1, 2, 3, 4, 5)
_VOIGT = ("xx", "yy", "zz", "yz", "xz", "xy")
# All orders of the shear components, and the rows of the upper triangle.
STRESS_ORDERS: tuple[Order, ...] = (*((0, 1, 2, *shear) for shear in permutations((3, 4, 5))), (0, 5, 4, 1, 3, 2))


class FactorFit(NamedTuple):
    """The factor that explains an answer best, and the relative part that it leaves unexplained."""

    factor: float
    residual: float
    order: Order = ()


def fit(answered: Float, expected: Float, order: Order = ()) -> FactorFit:
    """The least-squares factor f of answered ≈ f · expected; both are (m,).

    Args:
        order: of the components in the answer; empty: as expected.
    """
    reordered = expected[list(order)] if order else expected
    length, size = float(reordered @ reordered), float(np.linalg.norm(answered))
    if not (length > 0.0 and size > 0.0):  # also if one of them is NaN
        return FactorFit(np.nan, np.inf, order)
    factor = float(answered @ reordered) / length
    return FactorFit(factor, float(np.linalg.norm(answered - factor * reordered)) / size, order)


def looks_like(answered: Float, expected: Float, factors: Mapping[str, float], orders: Iterable[Order] = ((),)) -> str:
    """Words that follow "looks like" and name the mistake; empty if none explains the answer.

    Args:
        answered: (m,) by the model.
        expected: (m,) from its energies, in the same unit if the model is right.
        factors: what an answer in another unit is times the expected one.
        orders: of components, which the model may have taken; the first is the right one.
    """
    if len(answered) < 2:  # a single number always has a factor
        return ""
    fits = [fit(answered, expected, order) for order in orders]
    best = min(fits, key=lambda each: each.residual)
    if fits[0].residual <= LARGEST_RESIDUAL:  # another order of components that are alike says nothing
        best = fits[0]
    if not best.residual <= LARGEST_RESIDUAL:
        return ""
    size = abs(best.factor)
    known = [name for name, factor in {"": 1.0, **factors}.items() if abs(size / factor - 1.0) <= TOLERANCE]
    unnamed = f"{size:.3g} times the gradient of the energy" if abs(size - 1.0) > UNNAMED else ""
    words = [known[0] if known else unnamed]
    if best.factor < 0.0:
        words.append("the opposite sign")
    if best.order not in ((), AS_ASKED):
        words.append(f"the order {_names(best.order)} in place of {_names(AS_ASKED)}")
    return ", and ".join(filter(None, words))


def _names(order: Order) -> str:
    return " ".join(_VOIGT[i] for i in order)

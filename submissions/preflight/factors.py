"""Names the mistake behind a constant factor between what a model answers and what its own energies say.

A model whose stress is 160.2 times (1/V) dE/dε answers in GPa. A wrong order of components is found the same way. The
mistakes are those of `tasks.structures.known_mistakes`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from tasks.structures.frames import Float
from tasks.structures.known_mistakes import (
    AS_ASKED,
    ASE_UNITS,
    ENERGY_PER_ATOM,
    OPPOSITE_SIGN,
    VIRIAL,
    Order,
    UnitMistake,
    both_ways,
    fit,
    nearest,
    order_words,
)

LARGEST_RESIDUAL = 0.03  # share of the answer that a factor may leave unexplained
TOLERANCE = math.log(1.02)  # of a factor
UNNAMED = 0.1  # a factor this close to 1 is no mistake of units
NO_MISTAKE = UnitMistake("", "", 1.0)


def force_mistakes(n_atoms: int) -> tuple[UnitMistake, ...]:
    """What forces may be, if they are not the gradient of the energy: another unit of either, or an energy per atom."""
    energies = (
        mistake.inverse._replace(wrong=f"an energy in {mistake.wrong}")
        for mistake in both_ways("energy")
        if mistake.right == "eV"
    )
    return (*_in_units_of_ase("forces"), *energies, UnitMistake(ENERGY_PER_ATOM, "", float(n_atoms)))


def stress_mistakes(n_atoms: int, volume: float) -> tuple[UnitMistake, ...]:
    """As `force_mistakes`, of the stress of a cell of `volume` [Å³]."""
    sizes = UnitMistake(VIRIAL, "", volume), UnitMistake(ENERGY_PER_ATOM, "", float(n_atoms))
    return (*_in_units_of_ase("stress"), *sizes)


def _in_units_of_ase(quantity: str) -> list[UnitMistake]:
    return [mistake for mistake in both_ways(quantity) if mistake.right in ASE_UNITS]


def looks_like(
    answered: Float, expected: Float, mistakes: Iterable[UnitMistake], orders: Iterable[Order] = (AS_ASKED,)
) -> str:
    """Words that follow "looks like" and name the mistake; empty if none explains the answer.

    Args:
        answered: (m,) by the model.
        expected: (m,) from its energies, in the same unit if the model is right.
        mistakes: what an answer in another unit is times the expected one.
        orders: of components, which the model may have taken; the first is the right one.
    """
    if len(answered) < 2:  # a single number always has a factor
        return ""
    fits = [(order, fit(answered, expected if order == AS_ASKED else expected[list(order)])) for order in orders]
    order, best = min(fits, key=lambda each: each[1].residual)
    if fits[0][1].residual <= LARGEST_RESIDUAL:  # another order of components that are alike says nothing
        order, best = fits[0]
    if not best.residual <= LARGEST_RESIDUAL:
        return ""
    size = abs(best.slope)
    distance, mistake = nearest((NO_MISTAKE, *mistakes), size)[0]
    unnamed = f"{size:.3g} times the gradient of the energy" if abs(size - 1.0) > UNNAMED else ""
    words = [mistake.wrong if distance <= TOLERANCE else unnamed]
    if best.slope < 0.0:
        words.append(OPPOSITE_SIGN)
    if order != AS_ASKED:
        words.append(order_words(order))
    return ", and ".join(filter(None, words))

"""Units in which energy differences and profiles are stated and shown: of energies, and of energies per area."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Literal

from ase import units
from pydantic import BeforeValidator

# [eV]
ENERGY_UNITS: Mapping[str, float] = {
    "eV": 1.0,
    "meV": 1e-3,
    "kcal/mol": units.kcal / units.mol,
    "kJ/mol": units.kJ / units.mol,
    "hartree": units.Hartree,
}
# [eV/Å²]
SURFACE_UNITS: Mapping[str, float] = {
    "eV/Å²": 1.0,
    "meV/Å²": 1e-3,
    "J/m²": units.J / units.m**2,
    "mJ/m²": 1e-3 * units.J / units.m**2,
}


def spelled(unit: object) -> object:
    """`unit` with one code point for Å, which has two: the letter and the unit sign."""
    return unicodedata.normalize("NFC", unit) if isinstance(unit, str) else unit


Unit = Annotated[
    Literal["eV", "meV", "kcal/mol", "kJ/mol", "hartree", "eV/Å²", "meV/Å²", "J/m²", "mJ/m²"], BeforeValidator(spelled)
]


def unit_size(unit: str, has_area: bool) -> float:
    """How many eV, or eV/Å² of a sum that is divided by an area, one `unit` is.

    Raises:
        ValueError: it is a unit of the other; the line says which there are.
    """
    fitting = SURFACE_UNITS if has_area else ENERGY_UNITS
    if unit not in fitting:
        having = "are divided by an area" if has_area else "have no area"
        raise ValueError(f"unit: {unit} does not fit items that {having}: take one of {', '.join(fitting)}")
    return fitting[unit]

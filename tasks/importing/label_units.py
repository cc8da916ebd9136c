"""Units of imported labels, as a person states them: never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ase import units

from tasks.datasets.card import DatasetError

ENERGIES: Mapping[str, float] = {
    "ev": 1.0,
    "mev": 1e-3,
    "hartree": units.Hartree,
    "ha": units.Hartree,
    "rydberg": units.Rydberg,
    "ry": units.Rydberg,
    "kcal/mol": units.kcal / units.mol,
    "kj/mol": units.kJ / units.mol,
}
LENGTHS: Mapping[str, float] = {
    "å": units.Angstrom,
    "angstrom": units.Angstrom,
    "bohr": units.Bohr,
    "nm": units.nm,
    "pm": 0.01 * units.Angstrom,
}
PRESSURES: Mapping[str, float] = {
    "gpa": units.GPa,
    "mpa": 1e-3 * units.GPa,
    "pa": units.Pascal,
    "kbar": 1e3 * units.bar,
    "bar": units.bar,
}
PER_ATOM = "/atom"
QUANTITIES = ("energy", "length", "forces", "stress")
EXAMPLE = "ase, or energy=hartree,length=bohr,forces=hartree/bohr,stress=-kbar"


class LabelUnits(NamedTuple):
    """By quantity, the size of the file's unit in the judge's; None if the unit is not stated.

    Args:
        energy: eV.
        length: Å.
        forces: eV/Å.
        stress: eV/Å³, negative if the file counts compression as positive.
        energy_per_atom: whether energies are those of a structure divided by the number of its atoms.
    """

    energy: float | None = None
    length: float | None = None
    forces: float | None = None
    stress: float | None = None
    energy_per_atom: bool = False

    def factor(self, quantity: str, where: str) -> float:
        """The factor from the file's unit to the judge's.

        Raises:
            DatasetError: the file has the quantity and its unit is not stated; the line begins with `where`.
        """
        value: float | None = getattr(self, quantity)
        if value is None:
            raise DatasetError(f"{where}: {quantity}: its unit is not stated; add {quantity}=… to --units")
        return value


ASE_UNITS = LabelUnits(1.0, 1.0, 1.0, 1.0)


def parse_units(text: str) -> LabelUnits:
    """The units that `text` states: `ase` (eV, Å, eV/Å, and eV/Å³ positive in tension), or a list of `quantity=unit`.

    Energies: eV, meV, hartree, rydberg, kcal/mol, kJ/mol, or one of them per atom (eV/atom), which is multiplied by the
    number of atoms. Lengths: angstrom, bohr, nm, pm. Forces: energy/length.
    Stress: GPa, MPa, Pa, kbar, bar, or energy/length^3; a minus sign before it: positive in compression.

    Raises:
        DatasetError: one line that names the part at fault.
    """
    if text.strip().lower() == "ase":
        return ASE_UNITS
    factors: dict[str, float] = {}
    per_atom = False
    for part in text.split(","):
        quantity, _, unit = (word.strip() for word in part.partition("="))
        if quantity not in QUANTITIES or not unit:
            raise DatasetError(f"--units: {part.strip()!r} is not one of {', '.join(QUANTITIES)} = unit; say {EXAMPLE}")
        if quantity in factors:
            raise DatasetError(f"--units: {quantity} is stated twice")
        if quantity == "energy" and unit.lower().endswith(PER_ATOM):
            unit, per_atom = unit[: -len(PER_ATOM)], True
        value = _unit_size(quantity, unit.lower())
        if value is None:
            raise DatasetError(f"--units: {quantity}: {unit!r} is no unit of it that is known; say {EXAMPLE}")
        factors[quantity] = value
    if "length" not in factors:
        raise DatasetError("--units: length is not stated: add length=angstrom, or the unit of positions and cell")
    return LabelUnits(**factors, energy_per_atom=per_atom)


def _unit_size(quantity: str, unit: str) -> float | None:
    """One `unit` in eV, Å, eV/Å or eV/Å³; None if it is no unit of the quantity."""
    match quantity:
        case "energy":
            return ENERGIES.get(unit)
        case "length":
            return LENGTHS.get(unit)
        case "forces":
            return _ratio(unit, 1)
    sign, unit = (-1.0, unit[1:]) if unit.startswith("-") else (1.0, unit)
    value = PRESSURES.get(unit) or _ratio(unit.replace("³", "^3"), 3)
    return None if value is None else sign * value


def _ratio(unit: str, power: int) -> float | None:
    """An energy over a length to the `power`: kcal/mol/angstrom, hartree/bohr^3."""
    above, _, below = unit.rpartition("/")
    length, _, stated = below.partition("^")
    if above not in ENERGIES or length not in LENGTHS or stated != ("" if power == 1 else str(power)):
        return None
    return ENERGIES[above] / LENGTHS[length] ** power

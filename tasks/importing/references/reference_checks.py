"""Checks of the references of items: energies, pressures and properties that no material has.

The bounds are as wide as those of `tasks.importing.import_checks`: beyond them is a mistake of unit, sign or quantity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tasks.datasets.card import Crystal, Difference, Scan
from tasks.datasets.dataset import Dataset
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.structures.frames import Frames

# Helium takes 24.6 eV to ionise, the most of all atoms (NIST); no bond or lattice takes more for each of its atoms.
MAX_PER_ATOM = 30.0
MAX_DIFFERENCE = 500.0  # eV
MAX_PER_AREA = 10.0  # eV/Å²: 160 J/m²; the surfaces of diamond have below 10 J/m²
MAX_PROFILE = 100.0  # eV
# GPa. Diamond has K = 443 and G = 535 (McSkimin and Andreatch, doi:10.1063/1.1661636); under pressure K grows by four
# to five times that pressure, so that only crystals at zero pressure are doubtful beyond it.
MAX_MODULUS, HARDEST = 2000.0, 600.0
MAX_PRESSURE = 2000.0  # GPa
# Å³ per atom, and relative to the volume of the start of a relaxation: caesium at 100 GPa has about a sixth of its
# volume, and no functional makes a crystal swell by three quarters.
MIN_VOLUME, MAX_VOLUME = 1.0, 500.0
MIN_COMPRESSED, MAX_SWOLLEN = 1 / 8, 1.75
# K: hν/k_B of H2, the stiffest bond, is 6300.
MAX_FREQUENCY = 20_000.0
# Above 3R per atom (Dulong and Petit), which harmonic vibrations never exceed [J/mol/K].
MAX_HEAT_CAPACITY = 1.2 * 3 * 8.314462618
_VOLUME = "the volume of the cell taken for that of an atom, or bohr³ or nm³ for Å³?"
# By property: what it must be above and below, its unit, and the likely mistake.
BOUNDS = {
    "k_vrh_gpa": (0.0, MAX_MODULUS, "GPa", "a sign, or kbar, MPa or Pa taken for GPa?"),
    "g_vrh_gpa": (0.0, MAX_MODULUS, "GPa", "a sign, or kbar, MPa or Pa taken for GPa?"),
    "volume_per_atom": (MIN_VOLUME, MAX_VOLUME, "Å³", _VOLUME),
    "max_frequency_k": (0.0, MAX_FREQUENCY, "K", "an imaginary frequency, or another unit than K?"),
    "entropy_j_per_mol_k": (0.0, np.inf, "J/mol/K", "a sign?"),
    "heat_capacity_j_per_mol_k": (0.0, np.inf, "J/mol/K", "a sign?"),
}
# By measure of a simulated system: as above. Osmium has 22.6 g/cm³, gases at atmospheric pressure some 1e-4 and more;
# hydrogen in water, the fastest ion, diffuses with 9.3e-9 m²/s.
SYSTEM_BOUNDS = {
    "density": (1e-5, 30.0, "g/cm³", "kg/m³ taken for g/cm³?"),
    "bond_length": (0.5, 6.0, "Å", "nm, pm or bohr taken for Å?"),
    "first_peak": (0.5, 15.0, "Å", "nm, pm or bohr taken for Å?"),
    "angle": (0.0, 180.0 + 1e-9, "°", "a sign, or another unit?"),
    "diffusion": (1e-3, 1e4, "1e-9 m²/s", "cm²/s, m²/s or Å²/ps taken for 1e-9 m²/s?"),
}


class ReferenceFinding(NamedTuple):
    """A value out of bounds.

    Args:
        excess: the distance from the bound, in the measure of its sort: the worst of a sort is shown.
        sort: the findings of one sort become one line.
    """

    excess: float
    sort: str
    text: str
    why: str


def impossible_references(dataset: Dataset) -> list[str]:
    """Impossible references, each a line with item, field, value, bound and the likely mistake."""
    table, frames = dataset.table, dataset.frames
    findings = [f for item in table.differences for f in _of_difference(item, frames)]
    findings += [f for item in table.scans for f in _of_scan(item)]
    findings += [f for item in table.crystals for f in _of_crystal(item, frames)]
    findings += [f for item in table.systems for f in _of_system(item)]
    pressures = dataset.conditions.get("pressure_gpa", np.zeros(0))
    why = f"more than {MAX_PRESSURE:g} GPa: Pa, MPa or kbar taken for GPa?"
    for item in table.crystals if len(pressures) else ():
        pressure = float(pressures[item.structure])
        if not abs(pressure) <= MAX_PRESSURE:
            findings.append(ReferenceFinding(abs(pressure), why, f"{item.id}: pressure_gpa: {pressure:.6g} GPa", why))
    return _lines(findings)


def doubtful_references(dataset: Dataset) -> list[str]:
    """Doubtful references, as lines of the same form: crystals at zero pressure that are harder than diamond."""
    findings = []
    for item, label_set, name, value in _properties(dataset.table.crystals):
        pressure = dataset.conditions["pressure_gpa"][item.structure] if "pressure_gpa" in dataset.conditions else 0.0
        if name in ("k_vrh_gpa", "g_vrh_gpa") and pressure == 0 and HARDEST < value < MAX_MODULUS:
            why = f"more than {HARDEST:g} GPa, and diamond has 443 and 535: kbar taken for GPa?"
            findings.append(ReferenceFinding(value, name, f"{item.id}: {name} of {label_set}: {value:.4g} GPa", why))
    return _lines(findings)


def atoms_of_sum(difference: Difference, frames: Frames) -> float:
    """The atoms on the larger side of the sum, times their coefficients."""
    weights = np.array([term.coefficient * frames.n_atoms[term.structure] for term in difference.terms])
    return float(max(weights[weights > 0].sum(), -weights[weights < 0].sum()))


def _of_difference(item: Difference, frames: Frames) -> Iterator[ReferenceFinding]:
    atoms = atoms_of_sum(item, frames)
    for label_set, value in item.reference.items():
        what, size = f"{item.id}: reference of {label_set}: {value:.6g}", abs(value)
        if item.area is not None:
            why = f"more than {MAX_PER_AREA:g} eV/Å² (160 J/m²): mJ/m² or meV/Å² taken for J/m² or eV/Å²?"
            if size > MAX_PER_AREA:
                yield ReferenceFinding(size, "area", f"{what} eV/Å²", why)
            continue
        likely = "meV, kJ/mol or kcal/mol taken for eV or hartree, or a total energy?"
        if size > MAX_DIFFERENCE:
            yield ReferenceFinding(size, "energy", f"{what} eV", f"more than {MAX_DIFFERENCE:g} eV: {likely}")
        elif size > MAX_PER_ATOM * atoms:
            bound = f"more than {MAX_PER_ATOM:g} eV for each of {atoms:g} atoms"
            yield ReferenceFinding(size, "energy", f"{what} eV", f"{bound}: {likely}")


def _of_scan(item: Scan) -> Iterator[ReferenceFinding]:
    for label_set, energies in item.reference.items():
        height = (max(energies) - min(energies)) / (item.area or 1.0)
        bound, unit = (MAX_PROFILE, "eV") if item.area is None else (MAX_PER_AREA, "eV/Å²")
        units = "meV, kJ/mol or kcal/mol taken for eV or hartree" if item.area is None else "mJ/m² taken for J/m²"
        if height > bound:
            what = f"{item.id}: reference of {label_set}: a height of {height:.6g} {unit}"
            yield ReferenceFinding(
                height, "scan", what, f"more than {bound:g} {unit}: {units}, or an energy of another system?"
            )


def _of_system(item: SimulatedSystem) -> Iterator[ReferenceFinding]:
    for analysis in item.analyses:
        if analysis.measure in SYSTEM_BOUNDS:
            low, high, unit, why = SYSTEM_BOUNDS[analysis.measure]
            for label_set, value in (analysis.references or {}).items():
                if not low < value < high:
                    what = f"{item.id}: {analysis.name or analysis.measure} of {label_set}: {value:.6g} {unit}"
                    why_not = f"not between {low:g} and {high:g} {unit}: {why}"
                    yield ReferenceFinding(abs(np.log(value / low)), analysis.measure, what, why_not)


def _properties(crystals: Sequence[Crystal]) -> Iterator[tuple[Crystal, str, str, float]]:
    for item in crystals:
        for label_set, properties in item.reference.items():
            for name, value in properties.items():
                yield item, label_set, name, value


def _of_crystal(item: Crystal, frames: Frames) -> Iterator[ReferenceFinding]:
    n_atoms = int(frames.n_atoms[item.structure])
    volume = float(frames.volumes[item.structure]) / n_atoms
    for _, label_set, name, value in _properties([item]):
        low, high, unit, why = BOUNDS.get(name, (-np.inf, np.inf, "", ""))
        what = f"{item.id}: {name} of {label_set}: {value:.6g} {unit}"
        if not low < value < high:
            yield ReferenceFinding(abs(value), name, what, f"not between {low:g} and {high:g} {unit}: {why}")
        elif name == "volume_per_atom" and not MIN_COMPRESSED <= value / volume <= MAX_SWOLLEN:
            bounds = f"not {MIN_COMPRESSED:g} to {MAX_SWOLLEN:g}"
            share = f"{value / volume:.3g} times the structure's own {volume:.4g} Å³, {bounds}"
            yield ReferenceFinding(abs(np.log(value / volume)), name, what, f"{share}: {why}")
        elif name == "heat_capacity_j_per_mol_k" and value > MAX_HEAT_CAPACITY * n_atoms:
            bound = f"more than 1.2 × 3R for each of {n_atoms} atoms ({MAX_HEAT_CAPACITY * n_atoms:.4g})"
            yield ReferenceFinding(value, name, what, f"{bound}: of the supercell, or another unit?")


def _lines(findings: Sequence[ReferenceFinding]) -> list[str]:
    """The worst finding of each sort, and the number of its values."""
    by_sort: dict[str, list[ReferenceFinding]] = {}
    for finding in findings:
        by_sort.setdefault(finding.sort, []).append(finding)
    lines = []
    for same in by_sort.values():
        worst = max(same, key=lambda finding: finding.excess)
        more = f" ({len(same)} such values in all)" if len(same) > 1 else ""
        lines.append(f"{worst.text}{more} is {worst.why}")
    return lines

"""Two sets of reactions that share structures, with made-up structures of the right composition.

Stoichiometries and references as in GMTKN55 (commit e2a9edf, WATER27/.res and BUT14DIOL/.res).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.io import write

Reactions = Mapping[str, tuple[Mapping[str, int], float]]
"""By name, the coefficients of the structures and the reference [kcal/mol]."""

WATER, HYDRONIUM, HYDROXIDE = "H2O", "H3Op", "OHm"
_CLUSTERS = {
    "H2O2": 5.01, "H2O3": 15.8, "H2O4": 27.4, "H2O5": 35.9, "H2O6": 46.0, "H2O6c": 45.8, "H2O6b": 45.3, "H2O6c2": 44.3,
    "H2O8d2d": 72.6, "H2O8s4": 72.6, "H2O20": 198.6, "H2O20fc": 208.0, "H2O20fs": 208.0, "H2O20es": 209.7,
    "H3OpH2O": 33.5, "H3OpH2O2": 56.9, "H3OpH2O3": 76.5, "H3OpH2O63d": 117.8, "H3OpH2O62d": 114.9,
    "OHmH2O": 26.6, "OHmH2O2": 48.4, "OHmH2O3": 67.6, "OHmH2O4c4": 84.8, "OHmH2O4cs": 84.8, "OHmH2O5": 100.7,
    "OHmH2O6": 115.7,
}  # fmt: skip
_CONFORMERS = (
    0.15, 0.30, 1.31, 1.44, 1.72, 2.07, 1.77, 2.25, 2.03, 2.10, 2.00, 2.15, 2.22, 2.42, 2.23, 2.25, 2.58, 2.59, 2.63,
    2.48, 2.74, 2.55, 2.53, 2.72, 2.69, 2.49, 2.72, 2.83, 2.85, 2.85, 2.52, 2.63, 3.10, 2.72, 2.83, 2.79, 2.79, 3.06,
    3.10, 3.30, 3.15, 3.29, 3.59, 3.18, 3.18, 3.37, 3.45, 3.33, 3.33, 3.37, 3.61, 3.42, 3.15, 3.31, 3.45, 3.32, 3.57,
    3.52, 3.50, 3.65, 3.78, 4.15, 4.31, 4.70,
)  # fmt: skip
_FORMULA = re.compile(rf"({HYDRONIUM}|{HYDROXIDE})?(?:H2O(20|\d)?)?")


def water27() -> Reactions:
    """A cluster becomes its molecules and ions; the last reaction makes two ions in a cube of eight waters."""
    reactions = {}
    for name, reference in _CLUSTERS.items():
        ion, waters = _parts(name)
        reactions[name] = {name: -1, **({ion: 1} if ion else {}), WATER: waters}, reference
    return reactions | {"ionisation": ({"H2O8s4": -1, "H3OpH2O6OHm": 1}, 28.5)}


def but14diol() -> Reactions:
    """64 conformers of butane-1,4-diol, each against the first."""
    return {f"B{i}": ({"B1": -1, f"B{i}": 1}, energy) for i, energy in enumerate(_CONFORMERS, 2)}


def matrix(reactions: Reactions) -> np.ndarray:
    """(reactions, structures) coefficients."""
    names = sorted({name for terms, _ in reactions.values() for name in terms})
    return np.array([[terms.get(name, 0) for name in names] for terms, _ in reactions.values()], np.float64)


def apart(reactions: Reactions) -> Reactions:
    """The same reactions, each with copies of its structures that no other reaction uses."""
    return {
        name: ({f"{structure} in {name}": n for structure, n in terms.items()}, reference)
        for name, (terms, reference) in reactions.items()
    }


def write_reactions(folder: Path, reactions: Reactions) -> Path:
    """The folder with `structures.extxyz` and `reactions.json`, as `judge data import reactions` reads them."""
    folder.mkdir()
    names = dict.fromkeys(name for terms, _ in reactions.values() for name in terms)
    write(folder / "structures.extxyz", [_structure(name) for name in names])
    rows = [
        {
            "id": name,
            "reference_kcal_per_mol": reference,
            "terms": [{"structure": structure, "coefficient": n} for structure, n in terms.items()],
        }
        for name, (terms, reference) in reactions.items()
    ]
    stated = {"source": "GMTKN55", "reference_unit": "kcal/mol", "reactions": rows}
    (folder / "reactions.json").write_text(json.dumps(stated))
    return folder


def _parts(name: str) -> tuple[str, int]:
    """The ion of a structure, and the number of its waters."""
    found = _FORMULA.match(name)
    assert found
    ion, number = found.groups()
    return ion or "", int(number or ("H2O" in name))


def _structure(name: str) -> Atoms:
    """Atoms in a row, at distances that depend on the name of the structure, and not on the reaction."""
    structure = name.split(" in ")[0]
    ion, waters = _parts(structure)
    symbols = {HYDRONIUM: "H3O", HYDROXIDE: "OH"}.get(ion, "") + "H2O" * waters
    if structure == "H3OpH2O6OHm":
        symbols, ion = "H3O" + "H2O" * 6 + "OH", ""
    if structure.startswith("B"):
        symbols, ion = "C4H10O2", ""
    rng = np.random.default_rng(list(structure.encode()))
    atoms = Atoms(symbols)
    atoms.positions[:, 0] = np.cumsum(rng.uniform(1.0, 2.0, len(atoms)))
    atoms.info |= {"name": name, "charge": {HYDRONIUM: 1, HYDROXIDE: -1}.get(ion, 0), "multiplicity": 1}
    return atoms

"""Start geometries of the ten molecules of rMD17, and of water, by name.

`start_geometries.xyz` was made for this project: sketches from the molecules' formulas by RDKit 2026.9.1 (MMFF94),
relaxed by GFN2-xTB (tblite 0.8.0) to forces below 1e-4 eV/Å. Malonaldehyde is the dialdehyde, and azobenzene is trans.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from io import StringIO

from ase.io import read

from tasks.structures.frames import Frames

FILE = "start_geometries.xyz"


@cache
def start_geometries() -> dict[str, Frames]:
    """By name of the molecule, its geometry: a batch of one structure [Å] with charge and 2S+1."""
    text = files("tasks.simulation").joinpath(FILE).read_text(encoding="ascii")
    geometries = {}
    for atoms in read(StringIO(text), index=":", format="extxyz"):
        atoms.info["spin"] = atoms.info["multiplicity"]
        geometries[str(atoms.info["name"])] = Frames.from_atoms([atoms])
    return geometries

"""`judge data` as the tests call it, and the data that they import."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.build import bulk, fcc111
from ase.calculators.emt import EMT
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import write
from typer.testing import CliRunner

from judge.cli.commands.data import app
from judge.cli.main import explain
from tasks.datasets.dataset import Dataset, load_dataset
from tests.world.small_data import labelled
from tests.world.world import World

NAMED = ("--name", "mine", "--version", "1", "--domain", "Inorganic Materials", "--label-set", "EMT")
MOLECULES = ("--name", "mine", "--version", "1", "--domain", "Molecules", "--label-set", "PBE")


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit status, standard output, and the line that `judge` makes of an error."""
    result = CliRunner().invoke(app, arguments)
    if result.exception is None or isinstance(result.exception, SystemExit):
        return result.exit_code, result.stdout, result.stderr
    line, status = explain(result.exception)
    return status, result.stdout, line


def mine(world: World) -> Dataset:
    """The data set that `NAMED` and `MOLECULES` name."""
    return load_dataset(world.root / "data" / "mine@1")


def crystals(**factors: float) -> list[Atoms]:
    """Ten cells of platinum with EMT's labels, each `factors[name]` times as large."""
    made = []
    for atoms in labelled("Pt", 10):
        values = {"energy": atoms.get_potential_energy(), "forces": atoms.get_forces(), "stress": atoms.get_stress()}
        copy = atoms.copy()
        copy.calc = SinglePointCalculator(copy, **{k: factors.get(k, 1.0) * v for k, v in values.items()})
        made.append(copy)
    return made


def faces(folder: Path, factor: float) -> None:
    """Surface energies of platinum by EMT in J/m², `factor` times as large, and its cubic cell under strain."""
    slab, solid = fcc111("Pt", (1, 1, 4), vacuum=6.0, periodic=True), bulk("Pt")
    energy = {}
    for name, atoms in (("slab", slab), ("solid", solid)):
        atoms.info = {"name": name}
        atoms.calc = EMT()
        energy[name] = atoms.get_potential_energy()
        atoms.calc = None
    area = 2 * float(np.linalg.norm(np.cross(slab.cell[0], slab.cell[1])))
    reference = (energy["slab"] - 4 * energy["solid"]) / area * 16.021766
    terms = [{"structure": "slab", "coefficient": 1}, {"structure": "solid", "coefficient": -4}]
    reaction = {"id": "Pt(111)", "terms": terms, "area_angstrom2": area, "reference": factor * reference}
    folder.mkdir()
    write(folder / "structures.extxyz", [slab, solid])
    (folder / "reactions.json").write_text(json.dumps({"reference_unit": "J/m²", "reactions": [reaction]}))

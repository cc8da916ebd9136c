"""Boxes and molecules as MLIPAudit has them: PDB files, XYZ files, and the arrays beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ase import Atoms
from ase.build import molecule

from tasks.importing.mlipaudit.proteins import STABILITY

MOLECULES = {"water_box_n500": "H2O", "CCl4": "CCl4", "methanol": "CH3OH", "acetonitrile": "CH3CN"}


def write_liquids(folder: Path) -> None:
    """Four liquids on lattices, the numbers of their molecules, and a measured g(r)."""
    for name, formula in MOLECULES.items():
        water = name == "water_box_n500"
        target = folder / ("water_radial_distribution" if water else "solvent_radial_distribution")
        target.mkdir(parents=True, exist_ok=True)
        unit = molecule(formula)
        n, spacing = (7, 3.0) if water else (3, 6.0)
        box = lattice(unit, n, spacing)
        (target / f"{name}_eq.pdb").write_text(pdb_text(box))
        np.save(target / f"{name}_molecule_indices.npy", np.repeat(np.arange(n**3), len(unit)))
    r = np.arange(0, 20, 0.01)
    write_curve(folder / "water_radial_distribution", r, 1 + 2 * np.exp(-((r - 2.8) ** 2) / 0.05))


def write_curve(folder: Path, r: np.ndarray, g: np.ndarray) -> None:
    np.savez(folder / "experimental_reference.npz", r_OO=r, g_OO=g)


def lattice(unit: Atoms, n: int, spacing: float) -> Atoms:
    """n³ copies of a molecule in a cube."""
    unit = unit.copy()
    unit.cell, unit.pbc = np.eye(3) * spacing, True
    return unit.repeat(n)


def write_stability(folder: Path) -> None:
    """The eight systems: methanol, or as many ammonium ions as there are charges."""
    (folder / "stability").mkdir(parents=True, exist_ok=True)
    for system in STABILITY:
        ion = molecule("CH4")
        ion.numbers[0] = 7
        atoms = Atoms(cell=[0, 0, 0])
        for k in range(system.charge):
            atoms += Atoms(ion.numbers, ion.positions + np.array([5.0 * k, 0, 0]))
        write_pair(folder / "stability", system.name, atoms if system.charge else molecule("CH3OH"))


def write_pair(folder: Path, name: str, atoms: Atoms) -> None:
    """The files NAME.xyz and NAME.pdb of one structure."""
    lines = [f"{s} {x:.6f} {y:.6f} {z:.6f}" for s, (x, y, z) in zip(atoms.symbols, atoms.positions, strict=True)]
    (folder / f"{name}.xyz").write_text("\n".join([str(len(atoms)), "made up", *lines, ""]))
    (folder / f"{name}.pdb").write_text(pdb_text(atoms))


def pdb_text(atoms: Atoms, bonds: tuple[tuple[int, int], ...] = ()) -> str:
    """A PDB file with one residue UNK for each atom, as those of small molecules are."""
    lines = []
    if atoms.pbc.all():
        a, b, c = atoms.cell.lengths()
        lines.append(f"CRYST1{a:9.3f}{b:9.3f}{c:9.3f}  90.00  90.00  90.00 P 1           1")
    for i, (symbol, (x, y, z)) in enumerate(zip(atoms.symbols, atoms.positions, strict=True), 1):
        place = f"{i % 100000:5d} {symbol:<4s} UNK A{i % 10000:4d}    "
        lines.append(f"HETATM{place}{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {symbol:>2s}")
    lines += [f"CONECT{i + 1:5d}{j + 1:5d}" for i, j in bonds]
    return "\n".join([*lines, "END", ""])

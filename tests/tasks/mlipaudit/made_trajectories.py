"""Trajectories that are made from a seed, the same here and in an environment that has MLIPAudit.

They need numpy and ASE alone. No physics is in them: they shake what MLIPAudit's own small inputs hold.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.io import read
from numpy.typing import NDArray

Float = NDArray[np.float64]
N_CHI = {
    **dict.fromkeys(("SER", "THR", "CYS", "PRO", "VAL"), 1),
    **dict.fromkeys(("ASN", "ASP", "HIS", "ILE", "LEU", "PHE", "TYR", "TRP"), 2),
    **dict.fromkeys(("GLU", "GLN", "MET"), 3),
    **dict.fromkeys(("ARG", "LYS"), 4),
}


class Made(NamedTuple):
    """f frames: positions (f, N, 3) [Å], cells (f, 3, 3) [Å], temperatures (f,) [K]."""

    atoms: Atoms
    positions: Float
    cells: Float
    temperatures: Float


def water(data: Path, n_frames: int = 200) -> Made:
    """The water box: its molecules displaced as a whole, and its volume changed, in each frame."""
    atoms = _one(data / "water_radial_distribution" / "water_box_n500_eq.pdb")
    return _liquid(atoms, 3, n_frames, seed=1)


def carbon_tetrachloride(data: Path, n_frames: int = 200) -> Made:
    return _liquid(_one(data / "solvent_radial_distribution" / "CCl4_eq.pdb"), 5, n_frames, seed=2)


def bonds(data: Path) -> list[str]:
    """The names of the bonds in `bond_length_distribution`."""
    return list(json.loads((data / "bond_length_distribution" / "bond_length_distribution.json").read_text()))


def molecule(data: Path, benchmark: str, name: str, seed: int, n_frames: int = 300) -> Made:
    """A molecule of `ring_planarity` or `bond_length_distribution`, whose atoms are displaced at random."""
    (path,) = (data / benchmark).glob("*.json")
    stated = json.loads(path.read_text())[name]
    return _shaken(Atoms(stated["atom_symbols"], stated["coordinates"]), 0.03, n_frames, seed)


def chignolin(data: Path, width: float = 0.05, n_frames: int = 100) -> Made:
    """The protein in water, its atoms displaced by `width` [Å] in each direction."""
    folder = data / "folding_stability" / "starting_structures"
    atoms = _one(folder / "chignolin_1uao_xray.xyz")
    return _shaken(atoms, width, n_frames, seed=3)


def dihedral_points() -> tuple[dict[str, dict[str, list[float]]], dict[str, dict[str, list[float]]]]:
    """Reference points [°] of backbones and side chains in MLIPAudit's layout: half of all angles lie near one."""
    rng, n_points = np.random.default_rng(6), {1: 12, 2: 300, 3: 5_000, 4: 20_000}

    def points(names: tuple[str, ...]) -> dict[str, list[float]]:
        return {name: rng.uniform(-180, 180, n_points[len(names)]).round(2).tolist() for name in names}

    backbone = {name: points(("phi", "psi")) for name in ("GLY", "PRO", "ILE_VAL", "GENERAL")}
    chis = {name: tuple(f"chi{i + 1}" for i in range(n)) for name, n in N_CHI.items()}
    return backbone, {name: points(each) for name, each in chis.items()}


def small_molecule(data: Path, n_frames: int = 101) -> Made:
    """A hydrogen leaves from frame 61 on; in frame 40 it is away for one frame."""
    made = _shaken(_one(data / "stability" / "small_molecule_HCNO.xyz"), 0.03, n_frames, seed=4)
    hydrogen = int(np.flatnonzero(made.atoms.numbers == 1)[-1])
    made.positions[40, hydrogen] += 20.0
    made.positions[61:, hydrogen] += 20.0
    return made


def energies(n_frames: int = 1001) -> tuple[Float, Float, Float]:
    """Times [ps], potential and kinetic energies [eV] of a run whose total energy drifts."""
    rng, times = np.random.default_rng(5), 0.05 * np.arange(n_frames)
    kinetic = 1.8 + rng.normal(0.0, 0.2, n_frames)
    total = -3000.0 + 0.004 * times + rng.normal(0.0, 0.002, n_frames)
    return times, total - kinetic, kinetic


def conformers(data: Path) -> list[dict[str, Any]]:
    """The molecules of `conformer_selection`, each with six shaken conformers and energies [kcal/mol] from a seed."""
    molecules = json.loads((data / "conformer_selection" / "wiggle150_dataset.json").read_text())
    rng, made = np.random.default_rng(7), []
    for molecule in molecules:
        start = np.array(molecule["conformer_coordinates"][0])
        shaken = start + rng.normal(0.0, 0.02, (6, *start.shape))
        energies = rng.uniform(0.0, 30.0, 6).round(3)
        made.append(
            {
                **molecule,
                "dft_energy_profile": (energies - energies.min()).tolist(),
                "conformer_coordinates": shaken.round(6).tolist(),
            }
        )
    return made


def _one(path: Path) -> Atoms:
    atoms = read(path)
    assert isinstance(atoms, Atoms)
    return atoms


def _shaken(atoms: Atoms, width: float, n_frames: int, seed: int) -> Made:
    rng = np.random.default_rng(seed)
    positions = atoms.positions + rng.normal(0.0, width, (n_frames, len(atoms), 3))
    positions[0] = atoms.positions
    return Made(atoms, positions, np.repeat(atoms.cell.array[None], n_frames, axis=0), np.full(n_frames, 300.0))


def _liquid(atoms: Atoms, size: int, n_frames: int, seed: int) -> Made:
    rng = np.random.default_rng(seed)
    n = len(atoms) // size
    centres = atoms.positions.reshape(n, size, 3).mean(axis=1)
    inside = atoms.positions.reshape(n, size, 3) - centres[:, None]
    scale = rng.uniform(0.99, 1.01, n_frames)[:, None, None]
    moved = scale * centres + rng.normal(0.0, 0.3, (n_frames, n, 3))
    positions = (moved[:, :, None] + inside).reshape(n_frames, len(atoms), 3)
    return Made(atoms, positions, scale * atoms.cell.array, np.full(n_frames, 300.0))

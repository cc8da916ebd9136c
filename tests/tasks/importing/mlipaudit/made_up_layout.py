"""MLIPAudit's published layout with a few molecules of ASE, and energies of about the right size."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import molecule

from tasks.importing.mlipaudit.energy_units import ATOMS
from tasks.structures.units import ENERGY_UNITS

JSON_FILES = {
    "openff_n200_neutral.json": "reference_geometry_stability",
    "openff_n20_charged.json": "reference_geometry_stability",
    "ring_planarity_data.json": "ring_planarity",
    "bond_length_distribution.json": "bond_length_distribution",
    "folmsbee_dataset.json": "conformer_selection",
    "wiggle150_dataset.json": "conformer_selection",
    "TorsionNet500.json": "dihedral_scan",
    "NCI_Atlas.json": "noncovalent_interactions",
    "tautobase_2792.json": "tautomers",
    "grambow_dataset.json": "reactivity",
    "grambow_dataset_neb.json": "nudged_elastic_band",
}


def write_layout(folder: Path) -> None:
    """The files with molecules and reactions."""
    contents = {
        "openff_n200_neutral.json": {"mol_0": entry(molecule("CH3OH")), "mol_1": entry(molecule("H2O"))},
        "openff_n20_charged.json": {"mol_0": entry(molecule("NH3")[:3], charge=-1)},
        "ring_planarity_data.json": {"benzene": {**entry(molecule("C6H6")), "pattern_atoms": [0, 1, 2, 3, 4, 5]}},
        "bond_length_distribution.json": {"carbon-carbon (single)": bond()},
        "folmsbee_dataset.json": [conformers("ethane", total=True)],
        "wiggle150_dataset.json": [conformers("strained", total=False)],
        "TorsionNet500.json": {"fragment_001": torsion(), "fragment_002": torsion()},
        "NCI_Atlas.json": {"1.01.01": dimer("NCIA_D442x10"), "4.01.01": dimer("NCIA_R739x5")},
        "tautobase_2792.json": {"0001": tautomers()},
        "grambow_dataset.json": {"000001": reaction()},
        "grambow_dataset_neb.json": {"000001": reaction()},
    }
    for name, content in contents.items():
        path = folder / JSON_FILES[name] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))


def changed(folder: Path, name: str, change: Callable[[Any], None]) -> Path:
    """Changes the content of a file; its path."""
    path = folder / JSON_FILES[name] / name
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


def entry(atoms: Atoms, charge: int = 0) -> dict[str, Any]:
    """A molecule."""
    return {"atom_symbols": list(atoms.symbols), "coordinates": atoms.positions.tolist(), "charge": charge}


def total_energy(atoms: Atoms, unit: str) -> float:
    """The energy of the atoms, and 0.5 % more."""
    hartrees = sum(ATOMS[symbol] for symbol in atoms.symbols)
    return 1.005 * hartrees * ENERGY_UNITS["hartree"] / ENERGY_UNITS[unit]


def bond() -> dict[str, Any]:
    ethane = molecule("C2H6")
    return {**entry(ethane), "pattern_atom_indices": [0, 1], "reference_bond_distance": ethane.get_distance(0, 1)}


def conformers(name: str, *, total: bool) -> dict[str, Any]:
    ethane = molecule("C2H6")
    zero = total_energy(ethane, "kcal/mol") if total else 0.0
    return {
        "molecule_name": name,
        "dft_energy_profile": [zero + 1.0, zero, zero + 3.0],
        "atom_symbols": list(ethane.symbols),
        "conformer_coordinates": [turned(angle).positions.tolist() for angle in (30, 60, 90)],
    }


def turned(angle: float) -> Atoms:
    """Ethane with this torsion H–C–C–H [°]."""
    ethane = molecule("C2H6")
    ethane.set_dihedral(2, 0, 1, 5, angle, indices=[5, 6, 7])
    return ethane


def torsion(angles: tuple[float, ...] = (120.0, -60.0, 60.0), height: float = 3.0) -> dict[str, Any]:
    """A profile out of order."""
    return {
        "torsion_atom_indices": [2, 0, 1, 5],
        "dft_energy_profile": [[angle, height * (angle / 120) ** 2] for angle in angles],
        "atom_symbols": list(molecule("C2H6").symbols),
        "conformer_coordinates": [turned(angle).positions.tolist() for angle in angles],
    }


def dimer(dataset_name: str) -> dict[str, Any]:
    """Two molecules of hydrogen, the farthest first."""
    hydrogen = molecule("H2").positions
    profile = {10.0: 0.0, 3.0: 0.4, 3.5: -0.3}
    return {
        "dataset_name": dataset_name,
        "total_charge": 0.0,
        "charge_a": 0.0,
        "charge_b": 0.0,
        "selection_indices_a": [0, 1],
        "selection_indices_b": [2, 3],
        "atom_symbols": ["H"] * 4,
        "distance_profile": list(profile),
        "interaction_energy_profile": list(profile.values()),
        "coords": [np.concatenate([hydrogen, hydrogen + np.array([x, 0, 0])]).tolist() for x in profile],
    }


def tautomers() -> dict[str, Any]:
    """Dimethyl ether and ethanol, in place of tautomers; the second in another order of atoms."""
    both = [molecule("CH3OCH3"), molecule("CH3CH2OH")]
    energies = [total_energy(both[0], "eV"), total_energy(both[1], "eV") - 0.5]
    return {
        "energies": energies,
        "atom_symbols": [list(each.symbols) for each in both],
        "coordinates": [each.positions.tolist() for each in both],
    }


def reaction() -> dict[str, Any]:
    """HCN, HNC, and hydrogen beside the bond."""
    states = {
        "reactants": ([-1.07, 0, 0], 0.0),
        "products": ([2.15, 0, 0], 15.0),
        "transition_state": ([0.6, 1.1, 0], 48.0),
    }
    made = {}
    for name, (hydrogen, energy) in states.items():
        atoms = Atoms("CNH", [[0, 0, 0], [1.15, 0, 0], hydrogen])
        made[name] = {**entry(atoms), "energy": total_energy(atoms, "kcal/mol") + energy}
    return made

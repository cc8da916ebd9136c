"""The quickstart datasets of molecules, from reference data that ASE carries and from spectroscopy.

- s22: 22 non-covalent complexes, CCSD(T)/CBS interaction energies.
- dbh24: 24 barrier heights, forward and reverse, with charges and multiplicities.
- rotors: a methyl group turned by 120° against the rest of its molecule. The reference is the leading term of the
  hindered rotor's potential, V(φ) = V₃ (1 − cos 3φ) / 2, with V₃ as measured; the molecule is turned rigidly at the
  geometry of the G2 set, which raises a barrier by a few tenths of a kcal/mol above that of the relaxed path.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.build import molecule
from ase.data import dbh24, s22
from ase.units import invcm, kcal, mol

from tasks.datasets.card import Difference, Scan, Summand
from tasks.datasets.dataset import Dataset
from tasks.quickstart.dataset import Named, dataset_of, stated_card

CC, BEST, MEASURED = "CCSD(T)/CBS", "best estimate", "experiment"
BARRIERS = {
    "HAT": "heavy-atom transfer",
    "NS": "nucleophilic substitution",
    "UA": "unimolecular and association",
    "HT": "hydrogen transfer",
}


class Rotor(NamedTuple):
    """A methyl group on an axis.

    Args:
        formula: of the G2 set, where the methyl group stands in its minimum.
        v3_per_cm: barrier V₃ [1/cm].
    """

    name: str
    formula: str
    v3_per_cm: float


ROTORS = (
    Rotor("ethane", "C2H6", 1024.0),
    Rotor("methanol", "CH3OH", 373.21),
    Rotor("acetaldehyde", "CH3CHO", 407.7),
)
ANGLES = np.arange(0.0, 121.0, 10.0)  # °
BOND = 1.3  # Å: longer than a C–H bond, shorter than H···H


def build_s22() -> Dataset:
    """S22: dimer − monomer − monomer, at the dimer's geometry."""
    structures: list[Named] = []
    items = []
    for name in s22.s22:
        dimer = s22.create_s22_system(name)
        first, _ = s22.get_number_of_dimer_atoms(name)
        group = _s22_group(str(s22.data[name]["description"]))
        start = len(structures)
        parts = (("dimer", dimer), ("A", dimer[:first]), ("B", dimer[first:]))
        structures += [Named(f"{name}/{part}", group, atoms) for part, atoms in parts]
        terms = tuple(Summand(structure=start + k, coefficient=c) for k, c in enumerate((1.0, -1.0, -1.0)))
        reference = {CC: s22.get_interaction_energy_cc(name)}
        items.append(Difference(id=name, group=group, cluster=name, terms=terms, reference=reference))
    for entry in structures:
        entry.atoms.info["spin"] = 1
    return dataset_of(stated_card("s22"), structures, differences=items)


def _s22_group(description: str) -> str:
    if "h-bond" in description:
        return "hydrogen-bonded"
    return "dispersion-bonded" if "dispersion" in description else "mixed"


def build_dbh24() -> Dataset:
    """DBH24: transition state − reactants (forward) and − products (reverse)."""
    index: dict[str, int] = {}
    structures: list[Named] = []
    for name in dbh24.dbh24:
        entry: Any = dbh24.data[name]
        atoms = Atoms(entry["symbols"], entry["positions"])
        atoms.info["charge"] = round(entry.get("charge", 0.0))
        atoms.info["spin"] = round(sum(entry["magmoms"] or [0.0])) + 1
        index[name] = len(structures)
        structures.append(Named(name.removeprefix("dbh24_"), "transition state" if "tst" in name else "minimum", atoms))
    items = []
    for reaction in dbh24.dbh24_reaction_list:
        state, about = dbh24.get_dbh24_tst(reaction), str(dbh24.dbh24_reaction_list[reaction]["description"])
        ways = (
            ("forward", dbh24.get_dbh24_initial_states(reaction), dbh24.get_dbh24_Vf(state)),
            ("reverse", dbh24.get_dbh24_final_states(reaction), dbh24.get_dbh24_Vb(state)),
        )
        for way, ends, barrier in ways:
            terms = [Summand(structure=index[state], coefficient=1.0)]
            terms += [Summand(structure=index[end], coefficient=-1.0) for end in ends]
            items.append(
                Difference(
                    id=f"{about} {way}",
                    group=BARRIERS[about.split()[0]],
                    cluster=about,
                    terms=tuple(terms),
                    reference={BEST: barrier * kcal / mol},
                )
            )
    return dataset_of(stated_card("dbh24"), structures, differences=items)


def build_rotors() -> Dataset:
    """One scan a molecule."""
    structures: list[Named] = []
    scans = []
    for rotor in ROTORS:
        start = len(structures)
        for angle in ANGLES:
            atoms = turned(rotor.formula, angle)
            structures.append(Named(f"{rotor.name} {angle:.0f}°", "methyl rotor", atoms, rotor.name))
        energies = 0.5 * rotor.v3_per_cm * invcm * (1.0 - np.cos(np.radians(3.0 * ANGLES)))
        scans.append(
            Scan(
                id=rotor.name,
                group="methyl rotor",
                cluster=rotor.name,
                structures=tuple(range(start, len(structures))),
                x=tuple(float(a) for a in ANGLES),
                reference={MEASURED: tuple(float(e) for e in energies)},
            )
        )
    return dataset_of(stated_card("rotors"), structures, scans=scans)


def turned(formula: str, angle: float) -> Atoms:
    """A molecule of the G2 set with its first methyl group turned by `angle` [°] about the bond to its neighbour."""
    atoms = molecule(formula)
    apart = atoms.get_all_distances()
    carbons = [i for i in np.flatnonzero(atoms.numbers == 6) if len(_hydrogens(atoms, apart, int(i))) == 3]
    carbon = int(carbons[0])
    methyl = _hydrogens(atoms, apart, carbon)
    heavy = [i for i in np.flatnonzero(atoms.numbers > 1) if i != carbon]
    neighbour = min(heavy, key=lambda i: float(apart[carbon, i]))
    group = atoms[methyl]
    group.rotate(angle, atoms.positions[neighbour] - atoms.positions[carbon], center=atoms.positions[carbon])
    turned_atoms = Atoms(atoms.numbers, atoms.positions)
    turned_atoms.positions[methyl] = group.positions
    turned_atoms.info["spin"] = 1
    return turned_atoms


def _hydrogens(atoms: Atoms, apart: Any, carbon: int) -> list[int]:
    return [int(i) for i in np.flatnonzero((atoms.numbers == 1) & (apart[carbon] < BOND))]

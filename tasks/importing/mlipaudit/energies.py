"""Single points: conformers, torsions, complexes, tautomers and reactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ase import Atoms

from tasks.datasets.card import DatasetError, Difference, Scan, Summand, dataset_faults
from tasks.importing.mlipaudit.checks import check_same_order, check_selection, checked_atoms, chosen_entries
from tasks.importing.mlipaudit.content import BenchmarkContent, PublishedStructure, label_set_of
from tasks.importing.mlipaudit.energy_units import check_sizes, check_total
from tasks.importing.mlipaudit.layout import BenchmarkFiles, MissingFiles, read_json
from tasks.importing.mlipaudit.published_molecules import (
    PublishedComplex,
    PublishedConformers,
    PublishedReaction,
    PublishedTautomers,
    PublishedTorsion,
    conformers,
)
from tasks.structures.units import ENERGY_UNITS

FOLMSBEE, WIGGLE150 = "folmsbee_dataset.json", "wiggle150_dataset.json"
TORSIONS, COMPLEXES = "TorsionNet500.json", "NCI_Atlas.json"
TAUTOMERS, REACTIONS = "tautobase_2792.json", "grambow_dataset.json"
REPULSIVE = "NCIA_R739x5"
KCAL = ENERGY_UNITS["kcal/mol"]
# Between a torsion in the coordinates and the angle of the profile [°].
SAME_ANGLE = 5.0
STATES = ("reactants", "products", "transition_state")


class EnergyScan(NamedTuple):
    """A scan whose structures have no numbers yet; energies in kcal/mol."""

    id: str
    x: Sequence[float]
    energies: Sequence[float]
    atoms: Sequence[Atoms]
    group: str = ""

    @property
    def height(self) -> float:
        """The largest difference of two energies."""
        return max(self.energies) - min(self.energies)

    def sorted(self, field: str, where: str) -> EnergyScan:
        """The same in the order of x.

        Raises:
            DatasetError: two are at one x; the line begins with `where`.
        """
        order = np.argsort(self.x, kind="stable")
        x = [self.x[i] for i in order]
        for i in range(1, len(x)):
            if not x[i] > x[i - 1]:
                raise DatasetError(f"{where}: {field}: does not increase: {x[i]:g} is there twice: leave one out")
        energies, atoms = [self.energies[i] for i in order], [self.atoms[i] for i in order]
        return self._replace(x=x, energies=energies, atoms=atoms)


def conformer_selection(files: BenchmarkFiles) -> BenchmarkContent:
    """Folmsbee's molecules; in the mode 2025, and in dev if they are missing, those of Wiggle150."""
    name = FOLMSBEE
    if files.mode == "2025" or (files.is_dev and files.find(FOLMSBEE) is None):
        name = WIGGLE150
    if files.is_dev and files.find(name) is None:
        raise MissingFiles([f"{FOLMSBEE} or {WIGGLE150}"])
    path = files.path(name)
    molecules = read_json(path, tuple[PublishedConformers, ...])
    names = [molecule.molecule_name for molecule in molecules]
    if len(set(names)) < len(names):
        twice = next(each for each in names if names.count(each) > 1)
        raise DatasetError(f"{path}: molecule_name: two are called {twice!r}: join their conformers")
    profiles = []
    for each, molecule in chosen_entries(dict(zip(names, molecules, strict=True)), 1, files.is_dev, path).items():
        where, energies = f"{path}: {each}", molecule.dft_energy_profile
        structures = conformers(
            molecule.atom_symbols, molecule.conformer_coordinates, len(energies), molecule.charge, where
        )
        for i, energy in enumerate(energies):
            check_total(energy, molecule.atom_symbols, "kcal/mol", f"{where}: dft_energy_profile.{i}")
        profiles.append(EnergyScan(each, range(len(energies)), energies, structures))
    check_sizes([each.height for each in profiles], "kcal/mol", 1000.0, (0.5, 300.0), f"{path}: dft_energy_profile")
    return _scans("conformer_selection" if name == FOLMSBEE else "conformer_selection_wiggle150", profiles, path)


def dihedral_scan(files: BenchmarkFiles) -> BenchmarkContent:
    """The profiles of TorsionNet500, by angle."""
    path = files.path(TORSIONS)
    torsions = read_json(path, dict[str, PublishedTorsion])
    profiles = []
    chosen = chosen_entries(torsions, ("fragment_001", "fragment_002"), files.is_dev, path)
    for name, torsion in chosen.items():
        where = f"{path}: {name}"
        angles, energies = ([point[k] for point in torsion.dft_energy_profile] for k in (0, 1))
        structures = conformers(
            torsion.atom_symbols, torsion.conformer_coordinates, len(energies), torsion.charge, where
        )
        for i, (angle, atoms) in enumerate(zip(angles, structures, strict=True)):
            check_selection(torsion.torsion_atom_indices, atoms, "torsion_atom_indices", where)
            _check_angle(angle, atoms, torsion.torsion_atom_indices, f"{where}: dft_energy_profile.{i}")
        profiles.append(EnergyScan(name, angles, energies, structures).sorted("dft_energy_profile", where))
    check_sizes([each.height for each in profiles], "kcal/mol", 100.0, (1.0, 12.0), f"{path}: dft_energy_profile")
    return _scans("dihedral_scan", profiles, path)


def _check_angle(angle: float, atoms: Atoms, torsion: tuple[int, int, int, int], where: str) -> None:
    found = float(atoms.get_dihedral(*torsion))
    if abs((found - angle + 180) % 360 - 180) > SAME_ANGLE:
        raise DatasetError(
            f"{where}: {angle:g}° is not the torsion of atoms {', '.join(map(str, torsion))}, which is {found:.1f}°: "
            "bring profile and conformers into one order, or correct torsion_atom_indices"
        )


def noncovalent_interactions(files: BenchmarkFiles) -> BenchmarkContent:
    """The complexes of the NCI Atlas, by distance. The group is the data set of the atlas."""
    path = files.path(COMPLEXES)
    complexes = read_json(path, dict[str, PublishedComplex])
    profiles = []
    for name, each in chosen_entries(complexes, ("1.03.03", "1.01.01"), files.is_dev, path).items():
        where, energies = f"{path}: {name}", each.interaction_energy_profile
        structures = conformers(each.atom_symbols, each.coords, len(energies), each.total_charge, where)
        if len(each.distance_profile) != len(energies):
            raise DatasetError(
                f"{where}: distance_profile: has {len(each.distance_profile)} entries for {len(energies)} energies: "
                "state one of each"
            )
        _check_fragments(each, structures[0], where)
        profile = EnergyScan(name, each.distance_profile, energies, structures, each.dataset_name)
        profiles.append(profile.sorted("distance_profile", where))
    heights = [max(abs(energy - each.energies[-1]) for energy in each.energies) for each in profiles]
    check_sizes(heights, "kcal/mol", 500.0, (0.2, 60.0), f"{path}: interaction_energy_profile")
    return _scans("noncovalent_interactions", profiles, path)


def _check_fragments(stated: PublishedComplex, atoms: Atoms, where: str) -> None:
    """The selections are the two molecules, and their charges add up."""
    first, second = stated.selection_indices_a, stated.selection_indices_b
    if first or second:
        check_selection((*first, *second), atoms, "selection_indices_a, selection_indices_b", where)
        if len(first) + len(second) < len(atoms):
            raise DatasetError(
                f"{where}: selection_indices_a, selection_indices_b: name {len(first) + len(second)} of {len(atoms)} "
                "atoms: each atom belongs to one of them"
            )
    charges = [charge for charge in (stated.charge_a, stated.charge_b) if charge is not None]
    if len(charges) == 2 and sum(charges) != stated.total_charge:
        raise DatasetError(
            f"{where}: total_charge: is {stated.total_charge:+g}, charge_a and charge_b add up to {sum(charges):+g}: "
            "correct one of them"
        )


def tautomers(files: BenchmarkFiles) -> BenchmarkContent:
    """The energies of second tautomers above those of the first ones."""
    path = files.path(TAUTOMERS)
    pairs = read_json(path, dict[str, PublishedTautomers])
    structures, differences = list[PublishedStructure](), list[Difference]()
    for name, pair in chosen_entries(pairs, 2, files.is_dev, path).items():
        where = f"{path}: {name}"
        both = [
            checked_atoms(symbols, coordinates, pair.charge, f"{where}: {i}")
            for i, (symbols, coordinates) in enumerate(zip(pair.atom_symbols, pair.coordinates, strict=True))
        ]
        formulas = [atoms.get_chemical_formula() for atoms in both]
        if formulas[0] != formulas[1]:
            raise DatasetError(
                f"{where}: atom_symbols: {formulas[1]} is no tautomer of {formulas[0]}: state structures of one formula"
            )
        for i, energy in enumerate(pair.energies):
            check_total(energy, pair.atom_symbols[i], "eV", f"{where}: energies.{i}")
        reference = pair.energies[1] - pair.energies[0]
        terms = _terms({len(structures) + 1: 1, len(structures): -1})
        differences.append(_difference("tautomers", name, terms, reference))
        structures += [PublishedStructure(f"{name} {i}", atoms, cluster=name) for i, atoms in enumerate(both)]
    sizes = [abs(each.reference[label_set_of("tautomers")]) for each in differences]
    check_sizes(sizes, "eV", 10.0, (0.03, 2.0), f"{path}: energies: their differences")
    return BenchmarkContent("tautomers", structures, {"differences": differences})


def reactivity(files: BenchmarkFiles) -> BenchmarkContent:
    """Activation energies and reaction energies."""
    path = files.path(REACTIONS)
    structures, differences = list[PublishedStructure](), list[Difference]()
    reactions = read_reactions(path, files)
    for name, (reaction, states) in reactions.items():
        first = len(structures)
        structures += [PublishedStructure(f"{name} {state}", states[state], cluster=name) for state in STATES]
        for quantity, last in (("barrier", "transition_state"), ("reaction energy", "products")):
            terms = _terms({first + STATES.index(last): 1, first: -1})
            reference = reaction_energy(reaction, last)
            differences.append(_difference("reactivity", f"{name} {quantity}", terms, reference, quantity, name))
    return BenchmarkContent("reactivity", structures, {"differences": differences})


def read_reactions(path: Path, files: BenchmarkFiles) -> Mapping[str, tuple[PublishedReaction, dict[str, Atoms]]]:
    """The reactions of a file that the mode runs, by name, each with its structures by `STATES`.

    Raises:
        DatasetError: one line that names file, reaction and field.
    """
    reactions = {}
    for name, reaction in chosen_entries(read_json(path, dict[str, PublishedReaction]), 2, files.is_dev, path).items():
        states: dict[str, Atoms] = {}
        for state in STATES:
            where, each = f"{path}: {name}: {state}", getattr(reaction, state)
            states[state] = checked_atoms(each.atom_symbols, each.coordinates, reaction.charge, where)
            check_same_order(states[state], states["reactants"], (state, "reactants"), f"{path}: {name}")
            check_total(each.energy, each.atom_symbols, "kcal/mol", f"{where}: energy")
        reactions[name] = reaction, states
    for state, medians in (("transition_state", (10.0, 200.0)), ("products", (4.0, 120.0))):
        sizes = [abs(reaction_energy(reaction, state)) / KCAL for reaction, _ in reactions.values()]
        check_sizes(sizes, "kcal/mol", 500.0, medians, f"{path}: {state}: energy above reactants")
    return reactions


def reaction_energy(reaction: PublishedReaction, state: str) -> float:
    """The energy [eV] of a state above the reactants."""
    energy: float = getattr(reaction, state).energy
    return (energy - reaction.reactants.energy) * KCAL


def _terms(coefficients: Mapping[int, int]) -> tuple[Summand, ...]:
    return tuple(Summand(structure=index, coefficient=value) for index, value in coefficients.items())


def _difference(
    card: str, name: str, terms: tuple[Summand, ...], reference: float, quantity: str = "", cluster: str = ""
) -> Difference:
    by_label_set = {label_set_of(card): reference}
    return Difference(id=name, cluster=cluster or name, quantity=quantity, terms=terms, reference=by_label_set)


def _scans(card: str, profiles: Sequence[EnergyScan], path: Path) -> BenchmarkContent:
    """The scans, and their structures one after another."""
    structures, scans = list[PublishedStructure](), list[Scan]()
    for profile in profiles:
        first = len(structures)
        structures += [
            PublishedStructure(f"{profile.id} {i}", atoms, profile.group, profile.id)
            for i, atoms in enumerate(profile.atoms)
        ]
        fields = {
            "id": profile.id,
            "group": profile.group,
            "cluster": profile.id,
            "structures": range(first, len(structures)),
            "x": profile.x,
            "extremum": "maximum" if profile.group == REPULSIVE else "minimum",
            "reference": {label_set_of(card): [energy * KCAL for energy in profile.energies]},
        }
        with dataset_faults(f"{path}: {profile.id}"):
            scans.append(Scan.model_validate(fields))
    return BenchmarkContent(card, structures, {"scans": scans})

"""Relaxations, elastic bands, and molecules in vacuum that are simulated: rings and bonds."""

from __future__ import annotations

from typing import Any

import numpy as np

from tasks.datasets.card import MinimumEnergyPath, PathReference
from tasks.datasets.path_roles import PathRole
from tasks.datasets.simulated_systems import BondLengthAnalysis, PlanarityAnalysis, SimulatedSystem
from tasks.importing.mlipaudit.checks import check_bond, check_ring, chosen_entries
from tasks.importing.mlipaudit.content import BenchmarkContent, PublishedStructure, label_set_of
from tasks.importing.mlipaudit.energies import reaction_energy, read_reactions
from tasks.importing.mlipaudit.layout import BenchmarkFiles, read_json
from tasks.importing.mlipaudit.published_molecules import PublishedBond, PublishedMolecule, PublishedRing

RELAXED = {"neutral": "openff_n200_neutral.json", "charged": "openff_n20_charged.json"}
RINGS, BONDS, BANDS = "ring_planarity_data.json", "bond_length_distribution.json", "grambow_dataset_neb.json"


def reference_geometry_stability(files: BenchmarkFiles) -> BenchmarkContent:
    """Relaxed molecules, which are their own references."""
    paths = files.paths(*RELAXED.values())
    structures = []
    for group, name in RELAXED.items():
        path = paths[name]
        molecules = chosen_entries(read_json(path, dict[str, PublishedMolecule]), 2, files.is_dev, path)
        structures += [
            PublishedStructure(f"{group} {each}", molecule.atoms(f"{path}: {each}"), group)
            for each, molecule in molecules.items()
        ]
    return BenchmarkContent("reference_geometry_stability", structures, starts_are_references=True)


def nudged_elastic_band(files: BenchmarkFiles) -> BenchmarkContent:
    """Reactions whose first band goes through the known transition state."""
    card = "nudged_elastic_band"
    structures, paths = list[PublishedStructure](), list[MinimumEnergyPath]()
    roles = {
        PathRole.REACTANT: "reactants",
        PathRole.PRODUCT: "products",
        PathRole.GUESS: "transition_state",
        PathRole.TRANSITION_STATE: "transition_state",
    }
    for number, (name, (reaction, states)) in enumerate(read_reactions(files.path(BANDS), files).items()):
        for role, state in roles.items():
            words = role.name.lower().replace("_", " ")
            structures.append(PublishedStructure(f"{name}: {words}", states[state], cluster=name))
        energies = [reaction_energy(reaction, state) for state in ("transition_state", "products")]
        reference = {label_set_of(card): PathReference(barrier=energies[0], reaction_energy=energies[1])}
        paths.append(MinimumEnergyPath(id=name, cluster=name, path=number, reference=reference))
    n_roles = len(roles)
    conditions = {
        "path": np.repeat(np.arange(len(paths), dtype=np.int64), n_roles),
        "role": np.tile(np.array([int(role) for role in roles], np.int64), len(paths)),
    }
    return BenchmarkContent(card, structures, {"paths": paths}, conditions)


def ring_planarity(files: BenchmarkFiles) -> BenchmarkContent:
    """Rings, whose atoms should stay in a plane."""
    card, path = "ring_planarity", files.path(RINGS)
    rings = chosen_entries(read_json(path, dict[str, PublishedRing]), ("benzene", "furan"), files.is_dev, path)
    molecules = {}
    for name, ring in rings.items():
        atoms, where = ring.atoms(f"{path}: {name}"), f"{path}: {name}"
        check_ring(ring.pattern_atoms, atoms, "pattern_atoms", where)
        reference = {label_set_of(card): 0.0}
        molecules[name] = atoms, PlanarityAnalysis(measure="planarity", ring=ring.pattern_atoms, reference=reference)
    return _simulated(card, molecules)


def bond_length_distribution(files: BenchmarkFiles) -> BenchmarkContent:
    """Bonds, whose lengths should stay those of the start."""
    card, path = "bond_length_distribution", files.path(BONDS)
    molecules = {}
    for name, bond in chosen_entries(read_json(path, dict[str, PublishedBond]), 2, files.is_dev, path).items():
        atoms, where = bond.atoms(f"{path}: {name}"), f"{path}: {name}"
        check_bond(bond.pattern_atom_indices, bond.reference_bond_distance, atoms, where)
        reference = {label_set_of(card): bond.reference_bond_distance}
        analysis = BondLengthAnalysis(
            measure="bond_length", pairs=(bond.pattern_atom_indices,), each_frame=True, reference=reference
        )
        molecules[name] = atoms, analysis
    return _simulated(card, molecules)


def _simulated(card: str, molecules: dict[str, Any]) -> BenchmarkContent:
    """One system a molecule, each with its analysis."""
    structures = [PublishedStructure(name, atoms) for name, (atoms, _) in molecules.items()]
    systems = [
        SimulatedSystem(id=name, cluster=name, structure=i, analyses=(analysis,))
        for i, (name, (_, analysis)) in enumerate(molecules.items())
    ]
    return BenchmarkContent(card, structures, {"systems": systems})

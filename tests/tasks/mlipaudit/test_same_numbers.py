"""Our analyses of made trajectories beside MLIPAudit's own (`numbers.json`; `with_mlipaudit.py` says how it was made).

MLIPAudit computes distances and superpositions in single precision (mdtraj): pairs at the edge of a bin of g(r) move
to the next one, and RMSDs lose digits.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase.units import kB
from pydantic import TypeAdapter

from tasks.datasets.simulated_systems import AnyAnalysis
from tasks.dynamics.analyses import Analysed, SystemRuns, analysed
from tasks.dynamics.stored_frames_error import stored_error
from tasks.importing.pdb_files import read_pdb
from tasks.trajectories.dihedral_outliers import BACKBONE_SETS, N_CHI, chi_outlier_share
from tasks.trajectories.proteins import ProteinTopology, dihedral_atoms
from tasks.trajectories.trajectory import Trajectory
from tests.tasks.mlipaudit import made_trajectories as made

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / os.environ.get("LAMBENCH_TEST_DATA", "../shared/data") / "mlipaudit"
NUMBERS = json.loads((Path(__file__).parent / "numbers.json").read_text())
PROTEIN = DATA / "folding_stability" / "pdb_reference_structures"
LEVEL = "published"
SINGLE_PRECISION = 2e-5
pytestmark = [pytest.mark.data, pytest.mark.skipif(not DATA.exists(), reason="LAMBENCH_TEST_DATA has no mlipaudit")]


def runs(run: made.Made) -> SystemRuns:
    times = 0.5 * np.arange(len(run.positions))
    trajectory = Trajectory(run.positions, run.cells, run.atoms.pbc, run.atoms.numbers, times)
    return SystemRuns([trajectory], np.zeros((1, len(times))), run.temperatures[None], 300.0)


def ours(run: made.Made, measure: str, reference: Any = None, **fields: Any) -> Analysed:
    stated = {"measure": measure, **fields, **({} if reference is None else {"reference": {LEVEL: reference}})}
    analysis: AnyAnalysis = TypeAdapter(AnyAnalysis).validate_python(stated)
    return analysed(analysis, runs(run), LEVEL)


def same(value: float, *path: str, rel: float = 1e-6) -> None:
    expected: Any = NUMBERS
    for name in path:
        expected = expected[name]
    assert value == pytest.approx(expected, rel=rel)


def elements(run: made.Made, number: int) -> list[int]:
    atoms: list[int] = np.flatnonzero(run.atoms.numbers == number).tolist()
    return atoms


@pytest.mark.parametrize(("seed", "name"), enumerate(("benzene", "furan"), 10))
def test_planarity_of_rings(seed: int, name: str) -> None:
    stated = json.loads((DATA / "ring_planarity" / "ring_planarity_data.json").read_text())[name]
    run = made.molecule(DATA, "ring_planarity", name, seed)
    same(ours(run, "planarity", 0.0, ring=stated["pattern_atoms"]).error, "ring_planarity", name)


def test_lengths_of_bonds() -> None:
    stated = json.loads((DATA / "bond_length_distribution" / "bond_length_distribution.json").read_text())
    for seed, (name, molecule) in enumerate(stated.items(), 20):
        run = made.molecule(DATA, "bond_length_distribution", name, seed)
        reference, pairs = molecule["reference_bond_distance"], [molecule["pattern_atom_indices"]]
        result = ours(run, "bond_length", reference, pairs=pairs, each_frame=True)
        same(result.error, "bond_length_distribution", name)


def test_liquid_water() -> None:
    run = made.water(DATA)
    with np.load(DATA / "water_radial_distribution" / "experimental_reference.npz") as curve:
        experiment = {"x": curve["r_OO"].tolist(), "y": curve["g_OO"].tolist()}
    bins = {"first": elements(run, 8), "bin_width": 0.01, "centred": True}
    rmse = ours(run, "rdf_rmse", experiment, above=2.5, up_to=10.0, **bins).error
    same(rmse, "water_radial_distribution", "rmse", rel=SINGLE_PRECISION)
    peak = ours(run, "first_peak", 2.8, up_to=12.0, **bins).predicted
    same(peak, "water_radial_distribution", "first_solvent_peak")
    density = ours(run, "density", 0.997773, skip_share=0.2, mass_per_atom=18.01528 / 3)
    same(density.predicted, "water_density", "average_density")
    same(abs(density.error) / 100 * 0.997773, "water_density", "density_deviation")


def test_liquid_carbon_tetrachloride() -> None:
    run = made.carbon_tetrachloride(DATA)
    peak = ours(run, "first_peak", 5.9, first=elements(run, 6), up_to=14.0, bin_width=0.01, centred=True)
    same(peak.predicted, "solvent_radial_distribution", "first_solvent_peak")
    same(abs(peak.error), "solvent_radial_distribution", "peak_deviation")
    density = ours(run, "density", 1.594, skip_share=0.2, mass_per_atom=153.823 / 5)
    same(density.predicted, "solvent_density", "average_density")


def test_a_drift_over_its_fluctuation() -> None:
    times, potential, kinetic = made.energies()
    n_atoms = 46
    trajectory = Trajectory(
        np.zeros((len(times), n_atoms, 3)),
        np.zeros((len(times), 3, 3)),
        np.zeros(3, bool),
        np.ones(n_atoms, int),
        times,
    )
    temperatures = kinetic / (1.5 * kB * n_atoms)
    one = SystemRuns([trajectory], (potential + kinetic)[None], temperatures[None], 300.0)
    analysis: AnyAnalysis = TypeAdapter(AnyAnalysis).validate_python({"measure": "drift_ratio"})
    same(stored_error(analysis, one, LEVEL, len(times) - 1), "nve_energy_conservation", "energy_drift_ratio")
    # Not its own fluctuation: the one that is expected at 300 K (slip 3).
    expected = NUMBERS["nve_energy_conservation"]["total_drift_ev"] / (kB * 300 * np.sqrt(1.5 * n_atoms))
    assert analysed(analysis, one, LEVEL).error == pytest.approx(expected, rel=1e-6)


def test_a_protein_beside_its_reference_structure() -> None:
    run, pdb = made.chignolin(DATA, width=0.3), read_pdb(PROTEIN / "chignolin_1uao_xray.pdb")
    reference = read_pdb(PROTEIN / "chignolin_1uao_xray_ref.pdb")
    points = reference.positions[reference.named("CA")].tolist()
    result = ours(run, "rmsd", points, atoms=pdb.named("CA"))
    same(result.error, "folding_stability", "avg_rmsd", rel=SINGLE_PRECISION)


def test_dihedrals_far_from_the_reference() -> None:
    run, pdb = made.chignolin(DATA), read_pdb(PROTEIN / "chignolin_1uao_xray.pdb")
    points, residues = made.dihedral_points()[0], pdb.backbone()
    for name in NUMBERS["sampling"]["outliers_ratio_backbone_dihedrals"]:
        of = BACKBONE_SETS.get(name, "GENERAL")
        share = ours(
            run,
            "dihedral_outliers",
            {of: list(zip(points[of]["phi"], points[of]["psi"], strict=True))},
            residues=[residue.model_dump() for residue in residues],
            counted=[k for k, residue in enumerate(residues) if residue.name == name],
        ).error
        same(share / 100, "sampling", "outliers_ratio_backbone_dihedrals", name)


def test_side_chains_far_from_the_reference() -> None:
    run, pdb = made.chignolin(DATA), read_pdb(PROTEIN / "chignolin_1uao_xray.pdb")
    points, residues = made.dihedral_points()[1], [r for r in pdb.residues if {"N", "CA", "C"} <= r.atoms.keys()]
    atoms = [atom for residue in residues for atom in residue.atoms.values()]
    topology = ProteinTopology(
        tuple(pdb.lines[atom].name for atom in atoms),
        np.repeat(np.arange(len(residues)), [len(residue.atoms) for residue in residues]),
        tuple(residue.name for residue in residues),
        np.zeros(len(residues), np.int64),
    )
    trajectory = runs(run).trajectories[0].of_atoms(atoms)
    inner = set(dihedral_atoms(topology, "phi")[0].tolist()) & set(dihedral_atoms(topology, "psi")[0].tolist())
    for name in NUMBERS["sampling"]["outliers_ratio_sidechain_dihedrals"]:
        each = [dict(zip(*map(list, dihedral_atoms(topology, f"chi{i + 1}")), strict=True)) for i in range(N_CHI[name])]
        members = [r for r in sorted(inner) if topology.residue_names[r] == name]
        quadruples = np.array([[chi[r] for chi in each] for r in members])
        reference = np.array([points[name][f"chi{i + 1}"] for i in range(N_CHI[name])]).T
        share = chi_outlier_share(trajectory, quadruples.tolist(), reference)
        same(share, "sampling", "outliers_ratio_sidechain_dihedrals", name)


def test_a_hydrogen_that_leaves_for_good() -> None:
    run, pdb = made.small_molecule(DATA), read_pdb(DATA / "stability/small_molecule_HCNO.pdb")
    heavy = np.flatnonzero(run.atoms.numbers != 1)
    hydrogens = np.flatnonzero(run.atoms.numbers == 1)
    nearest = heavy[np.argmin(run.atoms.get_all_distances()[np.ix_(hydrogens, heavy)], axis=1)]
    assert len(pdb.lines) == len(run.atoms)
    bonds = list(zip(nearest.tolist(), hydrogens.tolist(), strict=True))
    expected = NUMBERS["stability"]
    after = ours(run, "hydrogen_drift", bonds=bonds).predicted
    assert after == pytest.approx(100 * (1 - expected["drift_frame"] / (len(run.positions) - 1)))
    # MLIPAudit takes the frames that it has for the beginning of a run of 1000.
    stated: AnyAnalysis = TypeAdapter(AnyAnalysis).validate_python({"measure": "hydrogen_drift", "bonds": bonds})
    stored = stored_error(stated, runs(run), "", expected["num_expected_frames"])
    same(1 - 0.5 * stored / 100, "stability", "score")

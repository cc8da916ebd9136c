"""Proteins: dihedrals of a stated topology, outliers, and secondary structure by mdtraj."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tasks.trajectories.dihedral_outliers import backbone_outliers, reference_distances, side_chain_outliers
from tasks.trajectories.internal_coordinates import dihedral_angles
from tasks.trajectories.proteins import ProteinTopology, dihedral_atoms, residue_dihedrals
from tasks.trajectories.secondary_structure import matching_shares, secondary_structure
from tests.tasks.trajectories.runs import free_run

BACKBONE = ("N", "CA", "C", "O")
ATOMS = (*BACKBONE, *BACKBONE, "CB", "OG", *BACKBONE, "O", "H1", "H2")
SERINE = ProteinTopology(
    ATOMS, np.repeat([0, 1, 2, 3], [4, 6, 4, 3]), ("GLY", "SER", "GLY", "HOH"), np.array([0, 0, 0, 1])
)
NUMBERS = [{"N": 7, "C": 6, "O": 8, "H": 1}[name[0]] for name in ATOMS]
RUN = free_run(np.random.default_rng(0).normal(0, 2, (5, 17, 3)), NUMBERS)


def test_dihedrals_join_residues_of_one_chain() -> None:
    assert [dihedral_atoms(SERINE, name)[0].tolist() for name in ("phi", "psi", "chi1", "chi2")] == [
        [1, 2],
        [0, 1],
        [1],
        [],
    ]
    np.testing.assert_array_equal(dihedral_atoms(SERINE, "phi")[1], [[2, 4, 5, 6], [6, 10, 11, 12]])
    np.testing.assert_array_equal(dihedral_atoms(SERINE, "chi1")[1], [[4, 5, 8, 9]])
    found = residue_dihedrals(RUN, SERINE, "psi")
    np.testing.assert_array_equal(found.angles, dihedral_angles(RUN, [[0, 1, 2, 4], [4, 5, 6, 10]]))
    split = ProteinTopology(ATOMS, SERINE.residue_of_atom, SERINE.residue_names, np.array([0, 1, 1, 2]))
    assert dihedral_atoms(split, "phi")[0].tolist() == [2]


def test_distances_of_angles_are_periodic() -> None:
    """(6°, 8°) are 10° away, no outlier; 179° and −179° are 2° apart."""
    distances = reference_distances(
        np.array([[6.0, 8.0], [179.0, 0.0], [np.nan, 0.0]]), np.array([[0.0, 0], [-179, 0]])
    )
    np.testing.assert_allclose(distances, [10, 2, np.inf])
    assert distances[0] <= 10
    with pytest.raises(ValueError, match="give at least one point, with as many angles"):
        reference_distances(np.zeros((1, 2)), np.zeros((0, 2)))


def test_outliers_are_shares_by_residue_name() -> None:
    """The ends of the chain have only one of φ and ψ: serine alone counts."""
    phi, psi = (residue_dihedrals(RUN, SERINE, name) for name in ("phi", "psi"))
    points = np.stack([phi.angles[:2, 0], psi.angles[:2, 1]], axis=1)
    outliers = backbone_outliers(RUN, SERINE, {"GENERAL": points + 6})
    assert outliers.shares() == {"SER": 3 / 5}
    np.testing.assert_array_equal(outliers.angles[:2, 0], points)
    chi = residue_dihedrals(RUN, SERINE, "chi1").angles
    assert side_chain_outliers(RUN, SERINE, {"SER": chi[:4]}) == {"SER": 1 / 5}
    with pytest.raises(ValueError, match="references: there are no points for SER"):
        backbone_outliers(RUN, SERINE, {"GLY": points})


def test_a_faulty_topology_is_refused() -> None:
    chains = SERINE.chain_of_residue
    with pytest.raises(ValueError, match="residue_of_atom: residues must be 0, 1, 2"):
        ProteinTopology(ATOMS, SERINE.residue_of_atom[::-1], SERINE.residue_names, chains)
    with pytest.raises(ValueError, match="atom_names: N is twice in residue GLY 0"):
        dihedral_atoms(ProteinTopology(("N", "N"), np.zeros(2, int), ("GLY",), np.zeros(1, int)), "phi")
    with pytest.raises(ValueError, match="topology: it has 17 atoms, the trajectory 3"):
        residue_dihedrals(free_run(np.zeros((1, 3, 3))), SERINE, "phi")
    with pytest.raises(ValueError, match="dihedral: there is no omega"):
        dihedral_atoms(SERINE, "omega")


def test_without_mdtraj_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mdtraj", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs mdtraj, which is not installed: pip install .*\[proteins\]"):
        secondary_structure(RUN, SERINE)


def test_codes_that_match() -> None:
    reference = np.array(["H", "E", "NA"])
    np.testing.assert_array_equal(matching_shares(np.array([["H", " ", "NA"], ["H", "E", "NA"]]), reference), [0.5, 1])
    with pytest.raises(ValueError, match="none of the residues is an amino acid"):
        matching_shares(np.array([["NA"]]), np.array(["NA"]))


def test_dssp_sees_positions_in_nanometres() -> None:
    """The codes of mdtraj, one for each residue; water is no amino acid."""
    pytest.importorskip("mdtraj")
    codes = secondary_structure(RUN, SERINE)
    assert codes.shape == (5, 4)
    assert (codes[:, 3] == "NA").all()

"""Dihedrals far from all reference points, as MLIPAudit 0.1.8 counts them (benchmark `sampling`).

A residue is an outlier in a frame if its dihedrals are more than 10° from the nearest reference point, by the Euclidean
distance of angles that have a period of 360°: (φ, ψ) of the backbone, all counted χ of a side chain together. A residue
with only one of φ and ψ is left out, at the ends of a chain.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tasks.structures.frames import Float, Int
from tasks.trajectories.proteins import ProteinTopology, ResidueDihedrals, dihedral_atoms, residue_dihedrals
from tasks.trajectories.trajectory import Trajectory

OUTLIER_DISTANCE = 10.0  # degrees
# How many χ of a side chain count, from the first one on.
N_CHI: Mapping[str, int] = {
    **dict.fromkeys(("SER", "THR", "CYS", "PRO", "VAL"), 1),
    **dict.fromkeys(("ASN", "ASP", "HIS", "ILE", "LEU", "PHE", "TYR", "TRP"), 2),
    **dict.fromkeys(("GLU", "GLN", "MET"), 3),
    **dict.fromkeys(("ARG", "LYS"), 4),
}
# The set of reference points of a residue's backbone; GENERAL for all others.
BACKBONE_SETS: Mapping[str, str] = {"GLY": "GLY", "PRO": "PRO", "ILE": "ILE_VAL", "VAL": "ILE_VAL"}


def reference_distances(angles: Float, reference: Float) -> Float:
    """(n,) distances [°] of `angles` (n, k) from the nearest point of `reference` (m, k), periodic; inf for NaN.

    Raises:
        ValueError: no reference point, one that is not finite, or another number of angles.
    """
    if np.ndim(reference) != 2 or not len(reference) or np.shape(reference)[1] != np.shape(angles)[1]:
        shapes = f"{np.shape(angles)} against {np.shape(reference)}"
        raise ValueError(f"reference: {shapes}: give at least one point, with as many angles")
    from scipy.spatial import cKDTree  # slow to import, and only needed here

    if not np.isfinite(reference).all():
        raise ValueError("reference: an angle is not finite: leave that point out")
    distances = np.full(len(angles), np.inf)
    finite = np.isfinite(angles).all(axis=1)
    distances[finite] = cKDTree(_within_turn(reference), boxsize=np.full(np.shape(reference)[1], 360.0)).query(
        _within_turn(angles[finite])
    )[0]
    return distances


def backbone_outliers(
    trajectory: Trajectory, topology: ProteinTopology, references: Mapping[str, Float]
) -> dict[str, float]:
    """The share of outliers among (φ, ψ) of each residue name, over its residues and all frames.

    Args:
        references: (m, 2) φ and ψ [°] for each of GLY, PRO, ILE_VAL and GENERAL that occurs.

    Raises:
        ValueError: a set of reference points is missing, or the topology is another one's.
    """
    phi, psi = (residue_dihedrals(trajectory, topology, name) for name in ("phi", "psi"))
    sets = {name: BACKBONE_SETS.get(name, "GENERAL") for name in topology.residue_names}
    return _outlier_shares(
        [phi, psi], topology, _complete(phi, psi), {name: references.get(sets[name]) for name in sets}
    )


def backbone_outlier_share(trajectory: Trajectory, topology: ProteinTopology, references: Mapping[str, Float]) -> float:
    """The share of outliers among (φ, ψ) of all residues and frames; arguments as of `backbone_outliers`.

    Raises:
        ValueError: see `backbone_outliers`; or no residue has both φ and ψ.
    """
    complete = np.intersect1d(dihedral_atoms(topology, "phi")[0], dihedral_atoms(topology, "psi")[0])
    if not len(complete):
        raise ValueError("residues: none is between two others of its chain: state three consecutive ones")
    shares = backbone_outliers(trajectory, topology, references)
    return float(np.mean([shares[topology.residue_names[residue]] for residue in complete]))


def side_chain_outliers(
    trajectory: Trajectory, topology: ProteinTopology, references: Mapping[str, Float]
) -> dict[str, float]:
    """The share of outliers among the counted χ of each residue name that has any.

    Args:
        references: (m, k) the k counted χ [°], by residue name.

    Raises:
        ValueError: the reference points of a residue are missing, or the topology is another one's.
    """
    complete = _complete(*(residue_dihedrals(trajectory, topology, name) for name in ("phi", "psi")))
    chis = [residue_dihedrals(trajectory, topology, f"chi{index}") for index in range(1, 5)]
    shares: dict[str, float] = {}
    for n_chi in sorted(set(N_CHI.values())):
        counted = [r for r in complete if N_CHI.get(topology.residue_names[r]) == n_chi]
        shares |= _outlier_shares(chis[:n_chi], topology, np.array(counted, np.int64), references)
    return shares


def _complete(phi: ResidueDihedrals, psi: ResidueDihedrals) -> Int:
    """(n,) residues with both φ and ψ."""
    return np.asarray(np.intersect1d(phi.residues, psi.residues))


def _outlier_shares(
    dihedrals: list[ResidueDihedrals],
    topology: ProteinTopology,
    residues: Int,
    references: Mapping[str, Float | None],
) -> dict[str, float]:
    """The share of outliers by name of the `residues` that have all the `dihedrals`."""
    for dihedral in dihedrals:
        residues = np.intersect1d(residues, dihedral.residues)
    names = np.array([topology.residue_names[residue] for residue in residues])
    shares = {}
    for name in sorted(set(names.tolist())):
        reference = references.get(name)
        if reference is None:
            raise ValueError(f"references: there are no points for {name}: add them, or leave its residues out")
        columns = [d.angles[:, np.searchsorted(d.residues, residues[names == name])].ravel() for d in dihedrals]
        far = ~(reference_distances(np.stack(columns, axis=1), reference) <= OUTLIER_DISTANCE)
        shares[name] = float(far.mean())
    return shares


def _within_turn(angles: Float) -> Float:
    """`angles` [°] in 0 ≤ x < 360; rounding can take a remainder to 360 itself."""
    remainder = np.mod(angles, 360.0)
    return np.where(remainder >= 360.0, 0.0, remainder)

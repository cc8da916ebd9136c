"""Dihedrals far from all reference points, as MLIPAudit 0.1.8 counts them (benchmark `sampling`).

A residue is an outlier in a frame if its dihedrals are more than 10° from the nearest reference point, by the Euclidean
distance of angles that have a period of 360°: (φ, ψ) of the backbone, all counted χ of a side chain together. A residue
with only one of φ and ψ is left out, at the ends of a chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.structures.frames import Bool, Float, Int
from tasks.trajectories.internal_coordinates import dihedral_angles
from tasks.trajectories.proteins import ProteinTopology, ResidueDihedrals, residue_dihedrals
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


class ResidueOutliers(NamedTuple):
    """k dihedrals of n residues in f frames, against reference points.

    Args:
        residues: (n,) increasing.
        names: (n,) of the residues.
        angles: (f, n, k) [°], −180 to 180.
        is_outlier: (f, n).
    """

    residues: Int
    names: NDArray[np.str_]
    angles: Float
    is_outlier: Bool

    def shares(self) -> dict[str, float]:
        """The share of outliers by residue name."""
        return {name: float(self.is_outlier[:, self.names == name].mean()) for name in sorted(set(self.names.tolist()))}


class BackboneMap(NamedTuple):
    """(φ, ψ) of n residues in f frames, and the m reference points that they are compared with.

    Args:
        title: names the residues.
        times_ps: (f,).
        angles: (f, n, 2) [°], −180 to 180.
        is_outlier: (f, n).
        reference: (m, 2) [°].
    """

    title: str
    times_ps: Float
    angles: Float
    is_outlier: Bool
    reference: Float


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
    trajectory: Trajectory,
    topology: ProteinTopology,
    references: Mapping[str, Float],
    counted: Sequence[int] | None = None,
) -> ResidueOutliers:
    """φ and ψ of the residues that have both, in all frames.

    Args:
        references: (m, 2) φ and ψ [°] for each of GLY, PRO, ILE_VAL and GENERAL that occurs.
        counted: these residues alone; None: all.

    Raises:
        ValueError: a set of reference points is missing, or the topology is another one's.
    """
    phi, psi = (residue_dihedrals(trajectory, topology, name) for name in ("phi", "psi"))
    residues = np.arange(len(topology.residue_names)) if counted is None else np.array(counted)
    sets = {name: references.get(backbone_set(name)) for name in topology.residue_names}
    return _outliers([phi, psi], topology, residues, sets)


def backbone_outlier_share(
    trajectory: Trajectory,
    topology: ProteinTopology,
    references: Mapping[str, Float],
    counted: Sequence[int] | None = None,
) -> float:
    """The share of outliers among (φ, ψ) of all residues and frames; arguments as of `backbone_outliers`.

    Raises:
        ValueError: see `backbone_outliers`; or no residue has both φ and ψ.
    """
    outliers = backbone_outliers(trajectory, topology, references, counted)
    if not len(outliers.residues):
        raise ValueError("residues: none is between two others of its chain: state three consecutive ones")
    shares = outliers.shares()
    return float(np.mean([shares[name] for name in outliers.names.tolist()]))


def backbone_set(residue_name: str) -> str:
    """The set of reference points of a residue's backbone."""
    return BACKBONE_SETS.get(residue_name, "GENERAL")


def chi_outlier_share(trajectory: Trajectory, residues: Sequence[Sequence[Sequence[int]]], reference: Float) -> float:
    """The share of outliers among the side chains of residues of one name, over all frames.

    Args:
        residues: of each the k quadruples of atoms of its χ.
        reference: (m, k) points [°].

    Raises:
        ValueError: an atom does not exist, or the points have another number of angles.
    """
    quadruples = np.array(residues)
    angles = dihedral_angles(trajectory, quadruples.reshape(-1, 4)).reshape(-1, quadruples.shape[1])
    return float(_is_outlier(angles, reference).mean())


def side_chain_outliers(
    trajectory: Trajectory, topology: ProteinTopology, references: Mapping[str, Float]
) -> dict[str, float]:
    """The share of outliers among the counted χ of each residue name that has any.

    Args:
        references: (m, k) the k counted χ [°], by residue name.

    Raises:
        ValueError: the reference points of a residue are missing, or the topology is another one's.
    """
    phi, psi = (residue_dihedrals(trajectory, topology, name) for name in ("phi", "psi"))
    complete = np.intersect1d(phi.residues, psi.residues)
    chis = [residue_dihedrals(trajectory, topology, f"chi{index}") for index in range(1, 5)]
    shares: dict[str, float] = {}
    for n_chi in sorted(set(N_CHI.values())):
        counted = [r for r in complete if N_CHI.get(topology.residue_names[r]) == n_chi]
        shares |= _outliers(chis[:n_chi], topology, np.array(counted, np.int64), references).shares()
    return shares


def _outliers(
    dihedrals: list[ResidueDihedrals],
    topology: ProteinTopology,
    residues: Int,
    references: Mapping[str, Float | None],
) -> ResidueOutliers:
    """Those of `residues` that have all k `dihedrals`; references (m, k) [°] by residue name."""
    for dihedral in dihedrals:
        residues = np.intersect1d(residues, dihedral.residues)
    names = np.array([topology.residue_names[residue] for residue in residues], np.str_)
    angles = np.stack([d.angles[:, np.searchsorted(d.residues, residues)] for d in dihedrals], axis=2)
    is_outlier = np.zeros(angles.shape[:2], np.bool_)
    for name in sorted(set(names.tolist())):
        reference = references.get(name)
        if reference is None:
            raise ValueError(f"references: there are no points for {name}: add them, or leave its residues out")
        points = angles[:, names == name].reshape(-1, len(dihedrals))
        is_outlier[:, names == name] = _is_outlier(points, reference).reshape(len(angles), -1)
    return ResidueOutliers(residues, names, angles, is_outlier)


def _is_outlier(angles: Float, reference: Float) -> Bool:
    """(n,) for `angles` (n, k) and points (m, k); NaN is an outlier."""
    return np.asarray(~(reference_distances(angles, reference) <= OUTLIER_DISTANCE))


def _within_turn(angles: Float) -> Float:
    """`angles` [°] in 0 ≤ x < 360; rounding can take a remainder to 360 itself."""
    remainder = np.mod(angles, 360.0)
    return np.where(remainder >= 360.0, 0.0, remainder)

"""Superposition by proper rotation (Kabsch), RMSD and radius of gyration of each frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ase.data import atomic_masses

from tasks.structures.frames import Float, Int
from tasks.trajectories.trajectory import Trajectory, frame_slices


def superposed(mobile: Float, reference: Float, weights: Float | None = None) -> Float:
    """(b, n, 3) `mobile` (b, n, 3), each turned and moved onto `reference` (n, 3) at least squares, never mirrored.

    Args:
        weights: (b, n) of the squares; None for equal ones.

    Source: W. Kabsch, Acta Cryst. A 32, 922 (1976) and 34, 827 (1978), doi:10.1107/S0567739476001873.
    """
    share = np.ones(mobile.shape[:2]) if weights is None else weights
    share = (share / share.sum(axis=1, keepdims=True))[:, :, None]
    mobile_centre = (share * mobile).sum(axis=1, keepdims=True)
    reference_centre = (share * reference).sum(axis=1, keepdims=True)
    centred = mobile - mobile_centre
    left, _, right = np.linalg.svd((share * centred).transpose(0, 2, 1) @ (reference - reference_centre))
    # The least singular value changes its sign where the best rotation would be a reflection.
    left[:, :, 2] *= np.sign(np.linalg.det(left @ right))[:, None]
    return np.asarray(centred @ (left @ right) + reference_centre)


def rmsd(positions: Float, reference: Float) -> Float:
    """(f,) root mean square distances [Å] of `positions` (f, n, 3) from `reference` (n, 3) after superposition.

    NaN for a frame with NaN.

    Raises:
        ValueError: no atom, another number of atoms, or a reference that is not finite.
    """
    check_against_reference(positions, reference, 1)
    distances = np.full(len(positions), np.nan)
    finite = np.flatnonzero(np.isfinite(positions).all(axis=(1, 2)))
    for chosen in frame_slices(len(finite), 9 * len(reference)):
        frames = finite[chosen]
        difference = superposed(positions[frames], reference) - reference
        distances[frames] = np.sqrt(np.einsum("fnk,fnk->fn", difference, difference).mean(axis=1))
    return distances


def trajectory_rmsd(trajectory: Trajectory, reference: Float, atoms: Sequence[int] | Int | None = None) -> Float:
    """(f,) RMSD [Å] of `atoms` (None: all) of each frame from the same atoms of `reference` (N, 3) [Å].

    Raises:
        ValueError: atoms that do not exist, or a reference of another number of atoms or with a gap.
    """
    if np.shape(reference) != (trajectory.n_atoms, 3):
        raise ValueError(f"reference must have shape ({trajectory.n_atoms}, 3), not {np.shape(reference)}")
    chosen = np.arange(trajectory.n_atoms) if atoms is None else trajectory.atom_indices("atoms", atoms)
    return rmsd(trajectory.positions[:, chosen], np.asarray(reference)[chosen])


def radii_of_gyration(trajectory: Trajectory, atoms: Sequence[int] | Int | None = None) -> Float:
    """(f,) mass-weighted radii of gyration [Å] of `atoms` (None: all), from unwrapped positions.

    Raises:
        ValueError: atoms that do not exist.
    """
    chosen = np.arange(trajectory.n_atoms) if atoms is None else trajectory.atom_indices("atoms", atoms)
    share = atomic_masses[trajectory.numbers[chosen]]
    share = share / share.sum()
    radii = np.empty(len(trajectory))
    for frames in frame_slices(len(trajectory), 6 * len(chosen)):
        positions = trajectory.positions[frames][:, chosen]
        centred = positions - np.einsum("n,fnk->fk", share, positions)[:, None]
        radii[frames] = np.sqrt(np.einsum("n,fnk,fnk->f", share, centred, centred))
    return radii


def check_against_reference(positions: Float, reference: Float, fewest: int) -> None:
    """Checks that `positions` (f, n, 3) has the atoms of `reference` (n, 3), at least `fewest`.

    Raises:
        ValueError: it has not, or the reference is not finite.
    """
    if np.ndim(reference) != 2 or np.shape(reference)[1] != 3 or np.shape(positions)[1:] != np.shape(reference):
        shapes = f"{np.shape(positions)} against {np.shape(reference)}"
        raise ValueError(f"reference: {shapes}: give positions (frames, n, 3) and a reference (n, 3) of the same atoms")
    if len(reference) < fewest:
        raise ValueError(f"reference: {len(reference)} atoms, at least {fewest} are needed: name more")
    if not np.isfinite(reference).all():
        raise ValueError("reference: a position is missing or not finite: give all of them")

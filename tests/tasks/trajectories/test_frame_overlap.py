"""Copied frames are seen, turned, mirrored, in another order of atoms or with equivalent atoms exchanged."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.simulation.start_geometries import start_geometries
from tasks.structures.frames import Float, Int
from tasks.structures.rotations import random_rotation
from tasks.trajectories.equivalent_atoms import same_molecule_orders
from tasks.trajectories.frame_overlap import frame_overlap
from tasks.trajectories.pair_distances import MoleculeFrames, pair_distances
from tasks.trajectories.superposition import rmsd


def trajectory(name: str, m: int, seed: int) -> MoleculeFrames:
    start = start_geometries()[name]
    moves = 0.06 * np.random.default_rng(seed).standard_normal((m, len(start.numbers), 3))
    return MoleculeFrames(np.arange(m), start.numbers, start.positions + moves)


def moved(molecule: MoleculeFrames, frames: list[int], seed: int = 5) -> Float:
    """Frames of `molecule`, each turned, moved and rounded to 1e-4 Å."""
    rng = np.random.default_rng(seed)
    chosen = molecule.positions[frames]
    return np.array([(each @ random_rotation(rng) + 10 * rng.standard_normal(3)).round(4) for each in chosen])


def with_frames(molecule: MoleculeFrames, positions: Float, order: Int | None = None) -> MoleculeFrames:
    """`molecule` with these frames in the middle, and the atoms in another order."""
    order = np.arange(len(molecule.numbers)) if order is None else order
    every = np.concatenate([molecule.positions[:5], positions, molecule.positions[5:]])
    return MoleculeFrames(np.arange(len(every)), molecule.numbers[order], every[:, order])


@pytest.mark.parametrize("name", ["aspirin", "ethanol", "benzene", "water"])
def test_independent_frames_do_not_overlap_and_copies_do(name: str) -> None:
    public, hidden = trajectory(name, 300, 1), trajectory(name, 200, 2)
    within = 0.02 if name != "water" else 1e-3
    assert frame_overlap(hidden, public, within).frames.size == 0
    copied = with_frames(hidden, moved(public, [7, 250, 8]))
    overlap = frame_overlap(copied, public, within)
    assert overlap.frames.tolist() == [5, 6, 7]
    assert overlap.nearest.tolist() == [7, 250, 8]
    assert (overlap.rmsd < 2e-4).all()


def test_mirrored_frames_and_exchanged_hydrogens_are_copies() -> None:
    public, hidden = trajectory("ethanol", 100, 1), trajectory("ethanol", 50, 2)
    overlap = frame_overlap(with_frames(hidden, -moved(public, [3])), public, 0.02)
    assert overlap.nearest.tolist() == [3]
    rng = np.random.default_rng(0)
    orders = same_molecule_orders(public, public)
    assert len(orders) == 12  # three hydrogens of the methyl group, two of the other carbon
    for order in orders:
        overlap = frame_overlap(with_frames(hidden, moved(public, [3])[:, order]), public, 0.02)
        assert overlap.nearest.tolist() == [3]
    order = rng.permutation(9)
    overlap = frame_overlap(with_frames(hidden, moved(public, [60, 61]), order), public, 0.02)
    assert overlap.nearest.tolist() == [60, 61]


def test_the_distance_is_the_rmsd_after_superposition() -> None:
    public, hidden = trajectory("uracil", 40, 1), trajectory("uracil", 30, 2)
    overlap = frame_overlap(hidden, public, 0.2)
    either = [[rmsd(sign * hidden.positions, frame) for frame in public.positions] for sign in (1, -1)]
    expected = np.min(either, axis=0).T
    np.testing.assert_array_equal(overlap.frames, np.flatnonzero(expected.min(axis=1) <= 0.2))
    np.testing.assert_allclose(overlap.rmsd, expected.min(axis=1)[overlap.frames], atol=1e-9)
    np.testing.assert_array_equal(overlap.nearest, expected.argmin(axis=1)[overlap.frames])
    assert 0 < len(overlap.frames) <= 30


def test_distances_differ_by_no_more_than_n_times_the_rmsd() -> None:
    first, other = trajectory("aspirin", 50, 1), trajectory("aspirin", 1, 2)
    difference = np.linalg.norm(pair_distances(first.positions) - pair_distances(other.positions), axis=1)
    assert (difference <= 21 * rmsd(first.positions, other.positions[0])).all()


def test_other_molecules_are_not_compared() -> None:
    public = trajectory("ethanol", 20, 1)
    assert frame_overlap(trajectory("benzene", 20, 1), public, 0.1) is None
    apart = public.positions.copy()
    apart[:, 0] += 20.0  # an isomer: the same atoms, other bonds
    assert frame_overlap(MoleculeFrames(public.indices, public.numbers, apart), public, 0.1) is None

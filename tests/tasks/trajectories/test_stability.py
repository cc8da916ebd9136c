"""Stability: each fault in the frame it is put, periodic boundaries minded, and MLIPAudit's variants without them."""

from __future__ import annotations

import numpy as np
import pytest
from ase.build import molecule

from tasks.trajectories.hydrogen_drift import HydrogenDrift, hydrogen_drift
from tasks.trajectories.neighbours import nearest_distances
from tasks.trajectories.stability import (
    InstabilityCause,
    first_escape,
    first_explosion,
    first_fault,
    first_not_finite,
    published_escape,
    published_fault,
)
from tasks.trajectories.trajectory import Trajectory
from tests.tasks.trajectories.runs import free_run, periodic_run

ETHANOL = molecule("CH3CH2OH")
WARM = np.full(10, 300.0)


def ten_frames(periodic: bool = False) -> np.ndarray:
    return np.repeat(ETHANOL.positions[None], 10, axis=0) + (8.0 if periodic else 0.0)


def run_of(positions: np.ndarray) -> Trajectory:
    return free_run(positions, ETHANOL.numbers, times_ps=0.5 * np.arange(len(positions)))


def test_a_stable_run_has_no_fault() -> None:
    run = run_of(ten_frames())
    assert first_fault(run, WARM, 300.0) is None
    assert published_fault(run, WARM, 300.0) is None


def test_nan_is_seen_in_its_frame() -> None:
    positions = ten_frames()
    positions[6:, 2, 1] = np.nan
    fault = first_fault(run_of(positions), np.where(np.arange(10) < 6, 300.0, np.nan), 300.0)
    assert fault == (InstabilityCause.NOT_FINITE, 6, 3.0, 2)
    all_nan = run_of(np.full_like(positions, np.nan))
    assert first_fault(all_nan, np.full(10, np.nan), 300.0) == (InstabilityCause.NOT_FINITE, 0, 0.0, 0)
    assert published_fault(all_nan, np.full(10, np.nan), 300.0) == first_not_finite(all_nan)


def test_an_explosion_is_at_the_frame_it_is_put() -> None:
    run = run_of(ten_frames())
    hot, sudden, both = WARM.copy(), WARM.copy() / 300, WARM.copy() / 300
    hot[4], sudden[7], both[3], both[8] = 10_301.0, 101.0, 101.0, 20_000.0
    for temperatures_k, frame, published in ((hot, 4, 4), (sudden, 7, 7), (both, 3, 8)):
        assert first_explosion(run, temperatures_k, 300.0) == (InstabilityCause.EXPLOSION, frame, 0.5 * frame, -1)
        assert first_explosion(run, temperatures_k, 300.0, as_published=True).frame == published
    no_number = np.where(np.arange(10) < 5, 300.0, np.nan)
    assert first_explosion(run, no_number, 300.0).frame == 5
    assert first_explosion(run, no_number, 300.0, as_published=True) is None
    with pytest.raises(ValueError, match="temperatures_k must have shape"):
        first_explosion(run, WARM[1:], 300.0)


def test_a_heavy_atom_that_leaves_is_seen() -> None:
    positions = ten_frames()
    positions[3:5, 2] += [50, 0, 0]
    assert first_fault(run_of(positions), WARM, 300.0) == (InstabilityCause.ESCAPE, 3, 1.5, 2)
    assert published_escape(run_of(positions)) is None  # it is back in the last frame
    positions[5:, 2] += [50, 0, 0]
    assert published_fault(run_of(positions), WARM, 300.0) == (InstabilityCause.ESCAPE, 9, 4.5, 2)


def test_an_atom_bonded_across_a_boundary_has_not_escaped() -> None:
    positions, moved = ten_frames(periodic=True), 8
    positions[2:, moved] += [9.0, 0.0, -18.0]
    run = periodic_run(positions, [9.0] * 3, ETHANOL.numbers)
    assert first_escape(run) is None
    assert published_escape(run) == (InstabilityCause.ESCAPE, 9, 9.0, moved)
    bonds = [[0, 6], [0, 7], [0, 8]]
    nearest = np.linalg.norm(ETHANOL.positions[[0, 1, 2], None] - ETHANOL.positions[moved], axis=2)
    bonded = [[int(nearest[:, 0].argmin()), moved]]
    assert hydrogen_drift(run, bonded) is None
    assert hydrogen_drift(run, bonded, periodic=False) == HydrogenDrift(2, 2.0, moved)
    assert hydrogen_drift(run, bonds) is None


def test_a_hydrogen_that_returns_or_changes_its_partner_does_not_drift() -> None:
    positions = ten_frames()
    hydrogen = 3  # of the oxygen
    positions[2:4, hydrogen] += [20, 0, 0]
    assert hydrogen_drift(run_of(positions), [[2, hydrogen]]) is None
    positions[5:, hydrogen] += [0, 0, 3.5]
    positions[7:, hydrogen] = positions[7:, 0] + [0, 0, 1.0]
    assert hydrogen_drift(run_of(positions), [[2, hydrogen]]) is None
    positions[8:, hydrogen] += [0, 0, 30]
    assert hydrogen_drift(run_of(positions), [[2, hydrogen]]) == HydrogenDrift(8, 4.0, hydrogen)


def test_neighbours_are_those_of_all_images() -> None:
    """In an oblique cell narrower than the distance, against a sum over images."""
    cell = np.array([[3.0, 0, 0], [1.4, 2.5, 0], [-0.7, 0.9, 4.0]])
    positions = np.random.default_rng(0).uniform(-9, 9, (6, 3))
    found = nearest_distances(positions[:3], positions[3:], cell, np.array([True, True, False]), 4.5)
    images = np.array([i * cell[0] + j * cell[1] for i in range(-12, 13) for j in range(-12, 13)])
    every = np.linalg.norm(positions[:3, None, None] - positions[3:, None] - images, axis=3).min(axis=(1, 2))
    np.testing.assert_allclose(found, np.where(every <= 4.5, every, np.inf))


def test_an_atom_that_is_alone_in_the_first_frame_has_escaped() -> None:
    assert first_escape(free_run([[[0, 0, 0], [0, 0, 1.5]]]), 1.0) == (InstabilityCause.ESCAPE, 0, 0.0, 0)


def test_what_cannot_escape_or_drift_is_refused() -> None:
    with pytest.raises(ValueError, match="a single atom cannot escape"):
        first_escape(free_run([[[0, 0, 0]]]))
    with pytest.raises(ValueError, match="bonds: 3–2 is not a heavy atom and a hydrogen"):
        hydrogen_drift(run_of(ten_frames()), [[3, 2]])

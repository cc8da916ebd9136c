"""A trajectory: what it refuses, its segments, and the cells in which shortest vectors are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase.geometry import find_mic

from tasks.trajectories.minimum_image import largest_right_distance, shortest_vectors
from tasks.trajectories.trajectory import Trajectory, frame_slices
from tests.tasks.trajectories.runs import free_run, periodic_run

GOOD: dict[str, Any] = {
    "positions": np.zeros((2, 3, 3)),
    "cells": np.repeat(5.0 * np.eye(3)[None], 2, axis=0),
    "pbc": np.ones(3, bool),
    "numbers": np.ones(3, int),
    "times_ps": np.arange(2.0),
}


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("positions", np.zeros((2, 3)), r"positions must have shape \(frames, atoms, 3\) and not be empty"),
        ("positions", np.zeros((0, 3, 3)), "positions must have shape .* not be empty"),
        ("cells", np.eye(3), r"cells must have shape \(2, 3, 3\), not \(3, 3\)"),
        ("cells", np.full((2, 3, 3), np.nan), "cells must be finite: cut the trajectory"),
        ("cells", np.zeros((2, 3, 3)), "pbc: a periodic direction needs a cell vector in every frame"),
        ("numbers", np.array([1, 1, 0]), "numbers must be atomic numbers from 1 to 118"),
        ("times_ps", np.zeros(2), "times_ps must be finite and increase"),
        ("velocities", np.zeros((2, 2, 3)), r"velocities must have shape \(2, 3, 3\), not \(2, 2, 3\)"),
        ("energies", np.zeros(3), r"energies must have shape \(2,\), not \(3,\)"),
    ],
)
def test_a_faulty_field_is_named_in_one_line(field: str, value: Any, line: str) -> None:
    with pytest.raises(ValueError, match=line) as refused:
        Trajectory(**(GOOD | {field: value}))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("atoms", "line"),
    [
        ([], "oxygens: no atom is given"),
        ([0, 3], "oxygens: there is no atom 3: the structure has atoms 0 to 2"),
        ([-1], "oxygens: there is no atom -1"),
        ([1, 1], "oxygens: an atom is given twice"),
        ([0.5], "oxygens must be whole numbers"),
        ([[0, 1]], "oxygens must be a list of atoms"),
    ],
)
def test_wrong_indices_are_refused(atoms: Any, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        Trajectory(**GOOD).atom_indices("oxygens", atoms)


def test_nan_positions_are_kept_and_named_by_what_needs_them() -> None:
    positions = np.zeros((3, 2, 3))
    positions[1, 0, 2] = np.nan
    run = free_run(positions, times_ps=np.array([0.0, 0.5, 1.0]))
    with pytest.raises(ValueError, match=r"positions: frame 1 \(0.5 ps\) is not finite"):
        run.finite_positions()
    assert run.first_frames(1).finite_positions().shape == (1, 2, 3)


def test_a_segment_has_both_its_ends() -> None:
    run = free_run(np.arange(10.0)[:, None, None] * np.ones((10, 1, 3)), times_ps=0.1 * np.arange(10))
    part = run.segment(0.2, 0.7)
    np.testing.assert_array_equal(part.positions[:, 0, 0], [2, 3, 4, 5, 6, 7])
    assert part.time_step_ps(6) == pytest.approx(0.1)
    with pytest.raises(ValueError, match=r"segment: no frame from 2 to 3 ps: the trajectory has 0 to 0.9 ps"):
        run.segment(2, 3)
    with pytest.raises(ValueError, match="6 frames, at least 7 are needed"):
        part.time_step_ps(7)
    with pytest.raises(ValueError, match="not equally spaced"):
        free_run(np.zeros((4, 1, 3)), times_ps=np.array([0.0, 1.0, 2.0, 4.0])).time_step_ps(3)


def test_a_volume_needs_three_periodic_directions() -> None:
    with pytest.raises(ValueError, match="pbc: density, pressure and"):
        free_run(np.zeros((1, 1, 3))).volumes()
    assert periodic_run(np.zeros((1, 1, 3)), [2.0, 3.0, 4.0]).volumes() == pytest.approx([24.0])


def test_shortest_vectors_are_those_of_ase_in_skewed_cells() -> None:
    """100 skewed cells, far beyond the reduced ones, and vectors over several cells."""
    random = np.random.default_rng(0)
    for _ in range(100):
        cell = random.normal(0, 3, (3, 3)) + 4 * np.eye(3)
        vectors = random.normal(0, 12, (20, 3))
        shortest = shortest_vectors(vectors[None], cell[None], np.ones(3, bool))[0]
        np.testing.assert_allclose(np.linalg.norm(shortest, axis=1), find_mic(vectors, cell)[1], atol=1e-9)


def test_shortest_vectors_of_a_slab_are_images_in_its_two_directions() -> None:
    random = np.random.default_rng(1)
    pbc = np.array([True, False, True])
    for _ in range(20):
        cell = random.normal(0, 1, (3, 3)) + 6 * np.eye(3)
        vectors = random.normal(0, 12, (20, 3))
        shortest = shortest_vectors(vectors[None], cell[None], pbc)[0]
        images = [vectors + i * cell[0] + j * cell[2] for i in range(-9, 10) for j in range(-9, 10)]
        np.testing.assert_allclose(
            np.linalg.norm(shortest, axis=1), np.linalg.norm(images, axis=2).min(axis=0), atol=1e-9
        )
    np.testing.assert_array_equal(shortest_vectors(vectors[None], cell[None], np.zeros(3, bool))[0], vectors)


def test_half_of_the_shortest_lattice_vector_is_the_limit() -> None:
    """A hexagonal cell that is written with a long vector has the limit of its short one."""
    cell = np.array([[4.0, 0, 0], [-2.0, np.sqrt(12), 0], [0, 0, 9.0]])
    skewed = cell + np.array([[0, 0, 0], 3 * cell[0], cell[0]])
    assert largest_right_distance(skewed[None], np.ones(3, bool)) == pytest.approx(2.0)
    assert largest_right_distance(skewed[None], np.array([False, False, True])) == pytest.approx(np.sqrt(97) / 2)


def test_chunks_cover_all_frames_once() -> None:
    parts = list(frame_slices(10, 4, largest=12))
    assert [(part.start, part.stop) for part in parts] == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert len(list(frame_slices(3, 100, largest=12))) == 3

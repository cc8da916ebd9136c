"""Structures at other volumes, by hand, and which structures are one curve."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from hypothesis import given
from hypothesis import strategies as st

from tasks.datasets.dataset import Structures
from tasks.simulation.curve_structures import CurveStructures, curve_numbers, curve_rows
from tasks.structures.frames import Frames


def salt(a: float, c: float, z: float) -> Atoms:
    """A tetragonal cell with two atoms, the second of which is at the height z."""
    return Atoms("LiF", scaled_positions=[[0, 0, 0], [0.5, 0.5, z]], cell=[a, a, c], pbc=True)


def scaled(atoms: Atoms, shares: list[float]) -> list[Atoms]:
    copies = [atoms.copy() for _ in shares]
    for copy, share in zip(copies, shares, strict=True):
        copy.set_cell(copy.cell * np.cbrt(share), scale_atoms=True)
    return copies


def test_between_two_volumes_shape_and_positions_lie_between() -> None:
    # Volumes 8 and 27; in the middle of them the cell is 2.5 × 2.5 × 2.75 before it is scaled to 17.5.
    curve = CurveStructures(Frames.from_atoms([salt(3, 3.0, 0.6), salt(2, 2.5, 0.5)]))
    assert curve.volumes == pytest.approx([10.0, 27.0])
    assert curve.middle == pytest.approx(18.5)
    asked = curve.at(np.array([18.5, 10.0, 5.0, 54.0]))
    scale = np.cbrt(18.5 / (2.5 * 2.5 * 2.75))
    np.testing.assert_allclose(asked.cell[0], np.diag([2.5, 2.5, 2.75]) * scale)
    np.testing.assert_allclose(asked.positions[1], np.array([1.25, 1.25, 0.55 * 2.75]) * scale)
    np.testing.assert_allclose(asked.cell[1], np.diag([2, 2, 2.5]))
    # Beyond the outermost ones these are scaled.
    np.testing.assert_allclose(asked.cell[2], np.diag([2, 2, 2.5]) * np.cbrt(0.5))
    np.testing.assert_allclose(asked.cell[3], 3 * np.eye(3) * np.cbrt(2.0))
    np.testing.assert_allclose(asked.positions[7], np.array([1.5, 1.5, 1.8]) * np.cbrt(2.0))
    np.testing.assert_allclose(asked.volumes, [18.5, 10.0, 5.0, 54.0])


def test_an_atom_that_was_wrapped_takes_the_short_way() -> None:
    curve = CurveStructures(Frames.from_atoms([salt(2, 2.0, 0.95), salt(3, 3.0, 0.05)]))
    z = curve.at(np.array([17.5])).positions[1, 2] / np.cbrt(17.5)
    assert z - np.round(z) == pytest.approx(0.0, abs=1e-12)


@given(share=st.floats(0.5, 2.0))
def test_a_crystal_that_is_scaled_stays_itself(share: float) -> None:
    start = bulk("Si", a=5.43)
    start.rattle(0.1, seed=1)
    curve = CurveStructures(Frames.from_atoms(scaled(start, [0.94, 1.0, 1.03, 1.06])))
    asked = curve.at(np.array([share * start.get_volume()]))
    (expected,) = scaled(start, [share])
    np.testing.assert_allclose(asked.cell[0], expected.cell.array, atol=1e-12)
    apart = np.linalg.solve(expected.cell.array.T, (asked.positions - expected.positions).T)
    np.testing.assert_allclose(apart, np.round(apart), atol=1e-12)


UP, DOWN = [0.94, 1.0, 1.06], [1.06, 1.0, 0.94]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([scaled(bulk("Cu"), UP), scaled(bulk("Ag"), UP)], [3, 3]),
        ([scaled(bulk("Cu"), UP), scaled(bulk("Cu"), UP)], [3, 3]),  # the volume falls between them
        ([scaled(bulk("Cu"), DOWN), scaled(bulk("Cu"), DOWN)], [3, 3]),
        # Another phase at larger volumes, by its shape or its positions.
        ([scaled(bulk("Cu"), UP), scaled(bulk("Cu", "sc", a=2.9), UP)], [3, 3]),
        ([scaled(salt(3, 3, 0.5), UP), scaled(salt(4, 4, 0.3), UP)], [3, 3]),
        # Relaxed at each volume.
        ([[salt(3, 3, 0.5), salt(3.1, 3.2, 0.51), salt(3.2, 3.3, 0.52)]], [3]),
    ],
)
def test_structures_in_a_row_are_one_curve(parts: list[list[Atoms]], expected: list[int]) -> None:
    structures = Structures("made-up@1", Frames.from_atoms([atoms for part in parts for atoms in part]))
    rows = curve_rows(curve_numbers(structures), least=1)
    assert [len(each) for each in rows] == expected
    assert np.concatenate(rows).tolist() == list(range(sum(expected)))


def test_a_condition_tells_curves_apart() -> None:
    frames = Frames.from_atoms([*scaled(bulk("Cu"), UP), *scaled(bulk("Cu"), [1.1, 1.2])])
    assert curve_numbers(Structures("made-up@1", frames)).tolist() == [0] * 5
    numbers = np.array([7, 3, 7, 3, 3])
    assert curve_numbers(Structures("made-up@1", frames, {"curve": numbers})).tolist() == [0, 1, 0, 1, 1]
    assert [rows.tolist() for rows in curve_rows(numbers, least=3)] == [[1, 3, 4]]

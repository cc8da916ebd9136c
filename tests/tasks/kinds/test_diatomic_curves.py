"""Measures of one curve of a pair: values by hand at every edge, and published values of a Morse curve."""

from __future__ import annotations

import numpy as np
import pytest
from ase.units import _amu, _c, _e

from tasks.kinds.diatomic_curves import (
    DistanceCurve,
    Turns,
    curve_errors,
    is_jumpy,
    own_measures,
    turns_of,
    wall_error,
    wall_radii,
    well_errors,
    well_of,
)
from tasks.simulation.diatomics import distances, pair_window
from tasks.structures.frames import Float

DEPTH, WIDTH, BOND = 5.0, 2.2, 1.25
OXYGEN = (8, 8)
HEIGHTS = (1.0, 5.0, 10.0, 20.0, 50.0, 100.0)
GRID = np.geomspace(0.1, 6.0, 119)
WINDOW, WALL = pair_window(OXYGEN), pair_window(OXYGEN, 0.8)
STEP, FORCE = 1e-3, 1e-2


def morse(bond: float = BOND, r: Float = GRID) -> DistanceCurve:
    decay = np.exp(-WIDTH * (r - bond))
    return DistanceCurve(r, DEPTH * (1 - decay) ** 2, -2 * DEPTH * WIDTH * (1 - decay) * decay)


def of(energy: list[float], force: list[float] | None = None) -> DistanceCurve:
    """A curve at 1, 2, 3 … Å."""
    n = len(energy)
    return DistanceCurve(
        np.arange(1.0, n + 1), np.array(energy), np.full(n, np.nan) if force is None else np.array(force)
    )


def test_a_morse_curve_has_the_values_of_matbench_discovery() -> None:
    inner = morse().between(WINDOW)
    own = own_measures(inner, STEP, FORCE)
    assert (own["tortuosity"], own["energy_flips"], own["force_flips"]) == (pytest.approx(1.0), 1, 1)
    assert own["energy_jump"] == pytest.approx(0.08772, abs=5e-6)
    assert own["force_variation"] == pytest.approx(292.137, abs=5e-4)
    assert own["force_jump"] == pytest.approx(0.16844, abs=5e-6)
    assert well_of(inner).r == pytest.approx(1.25697, abs=5e-6)
    shifted = morse(BOND + 0.05)
    assert wall_error(shifted.between(WALL), morse().between(WALL), HEIGHTS) == pytest.approx(0.04966, abs=5e-6)
    errors = well_errors(shifted.between(WINDOW), inner, OXYGEN, 0.05)
    assert errors["pair_bond_length_mae"] == pytest.approx(0.05067, abs=5e-6)


def test_the_window_of_an_element_and_of_two() -> None:
    assert pytest.approx((0.9 * 0.66, 3.1 * 1.50)) == WINDOW  # Cordero and Alvarez
    assert WALL[0] == pytest.approx(0.8 * 0.66)
    assert pair_window((1, 8)) == pytest.approx((0.9 * (0.31 + 0.66) / 2, 3.1 * (1.20 + 1.50) / 2))
    assert pair_window((55, 55))[1] == 6.0  # 3.1 × 3.48 Å is more
    assert pair_window((1, 87))[1] == 6.0  # francium has no van der Waals radius
    assert distances("O", 9)[[0, -1]] == pytest.approx(WINDOW)
    ends = of([0.0] * 5).between((2.0 + 5e-10, 4.0 - 5e-10))
    assert ends.r.tolist() == [2.0, 3.0, 4.0]  # up to the rounding of files


def test_turns_and_jumps_by_hand() -> None:
    energy = [3.0, 0.0, 2.0, 2.0005, 1.0, 4.0]
    # It turns at 0 (the well counts), at 2 (the small step is left out), and at 1.
    own = own_measures(of(energy), STEP, FORCE)
    assert own["energy_flips"] == 3
    assert own["energy_jump"] == pytest.approx((3 + 2) + (2 + 1.0005) + (1.0005 + 3))
    assert own["tortuosity"] == pytest.approx((3 + 2 + 0.0005 + 1.0005 + 3) / (3 + 4))
    assert np.isnan([own["force_flips"], own["force_variation"], own["force_jump"]]).all()
    forced = own_measures(of(energy, [5.0, -0.5, 0.009, 0.5, 0.5, -0.009]), STEP, FORCE)
    # Weak forces have no sign, but their changes count in the jumps; a step of zero is none.
    assert forced["force_flips"] == 2
    assert forced["force_variation"] == pytest.approx(5.5 + 0.509 + 0.491 + 0.0 + 0.509)
    assert forced["force_jump"] == pytest.approx((5.5 + 0.509) + (0.491 + 0.509))


@pytest.mark.parametrize(("step", "n"), [(1e-3, 2), (0.999e-3, 0)])
def test_a_step_of_the_threshold_counts(step: float, n: int) -> None:
    assert turns_of(np.array([0.0, 1.0, 1.0 - step, 2.0]), STEP).number == n


def test_a_flat_curve_has_no_tortuosity_and_no_turn() -> None:
    own = own_measures(of([2.0] * 5, [0.0] * 5), STEP, FORCE)
    assert np.isnan(own.pop("tortuosity"))
    assert set(own.values()) == {0.0}


def test_errors_of_curves_by_hand() -> None:
    reference, curve = of([4.0, 1.0, 0.0, 0.0, 0.0], [3.0] * 5), of([9.0, 3.0, 1.0, 1.0, 1.0], [6.0] * 5)
    # Each less its last: twice as high, so the error is the reference itself, linear between its points.
    errors = curve_errors(curve, reference)
    right = np.interp(np.linspace(1, 5, 200), reference.r, reference.energy)
    assert errors == {"curve_energy_mae": pytest.approx(right.mean()), "curve_force_mae": pytest.approx(1.0)}
    # The common range alone: from 2 Å to 4 Å; the last of it is the zero.
    shorter = DistanceCurve(np.arange(2.0, 5.0), np.array([5.0, 4.0, 4.0]), np.full(3, np.nan))
    part = curve_errors(shorter, reference)
    assert part["curve_energy_mae"] == pytest.approx(0.0, abs=1e-12)
    assert np.isnan(part["curve_force_mae"])


def test_radii_of_the_wall_by_hand() -> None:
    curve = of([10.0, 4.0, 6.0, 0.0, 1.0])
    # Inwards from 4 Å: 6 at 3 Å, no higher at 2 Å, 10 at 1 Å.
    np.testing.assert_allclose(wall_radii(curve, (3.0, 6.0, 8.0, 10.0, 10.1)), [3.5, 3.0, 2.0, 1.0, np.nan])
    assert np.isnan(wall_radii(of([0.0, 1.0, 2.0]), (1.0,))).all()  # it falls inwards: a hole


def test_the_error_of_the_wall_by_hand() -> None:
    reference = of([10.0, 5.0, 0.0, 1.0])
    lower = of([6.0, 3.0, 0.0, 1.0])
    # 1: 2.8 against 2⅔; 5: 2 against 1⅓; 10 is not reached by the model: 1 in all; 20 is not reached by the reference.
    expected = ((2.8 - 8 / 3) + (2 - 4 / 3) + 1.0) / 3
    assert wall_error(lower, reference, (1.0, 5.0, 10.0, 20.0)) == pytest.approx(expected)
    hole = of([-9.0, 5.0, 0.0, 1.0])
    assert wall_error(hole, reference, (1.0, 5.0)) == pytest.approx((2.8 + 2.0) / 2)
    assert np.isnan(wall_error(lower, of([0.5, 0.0, 1.0]), (1.0,)))
    assert np.isnan(wall_error(of([np.nan, 3.0, 0.0, 1.0]), reference, (1.0,)))


def test_a_parabola_has_its_own_well() -> None:
    r = np.array([1.0, 1.1, 1.25, 1.4, 1.6, 1.9, 2.4])
    none = np.full(len(r), np.nan)
    well = well_of(DistanceCurve(r, 7.0 * (r - 1.32) ** 2 - 3.0, none))
    assert well == (pytest.approx(1.32), pytest.approx(14.0))
    expected = np.sqrt(14.0 * _e * 1e20 / (15.999 / 2 * _amu)) / (2 * np.pi * 100 * _c)
    assert well.wavenumber(OXYGEN) == pytest.approx(expected)
    hydroxyl = well.wavenumber((1, 8)) / well.wavenumber(OXYGEN)
    assert hydroxyl == pytest.approx(np.sqrt(15.999 / 2 / (1.008 * 15.999 / (1.008 + 15.999))))


def test_a_well_at_an_end_is_fitted_to_the_last_five_points_and_stays_on_them() -> None:
    r = np.arange(1.0, 8.0)
    none = np.full(7, np.nan)
    rising = well_of(DistanceCurve(r, (r + 3.0) ** 2, none))
    assert rising == (1.0, pytest.approx(2.0))  # its vertex, at −3 Å, is outside
    falling = well_of(DistanceCurve(r, (r - 20.0) ** 2, none))
    assert falling == (7.0, pytest.approx(2.0))
    bent = well_of(DistanceCurve(r, np.sqrt(r), none))
    assert bent.r == 1.0
    assert np.isnan(bent.curvature)
    assert np.isnan(bent.wavenumber(OXYGEN))


def test_wells_are_compared_only_if_the_reference_is_bound() -> None:
    bound, curve = of([1.0, 0.0, 0.01, 0.03, 0.05]), of([5.0, 1.0, 0.0, 1.0, 2.0])
    errors = well_errors(curve, bound, OXYGEN, 0.05)
    assert errors["well_depth_mae"] == pytest.approx(2.0 - 0.05)
    assert errors["pair_bond_length_mae"] == pytest.approx(abs(well_of(curve).r - well_of(bound).r))
    assert np.isnan(list(well_errors(curve, of([1.0, 0.0, 0.01, 0.03, 0.0499]), OXYGEN, 0.05).values())).all()
    flat = of([0.0] * 5)
    assert well_errors(flat, bound, OXYGEN, 0.05)["well_depth_mae"] == pytest.approx(0.05)
    assert np.isnan(well_errors(flat, bound, OXYGEN, 0.05)["wavenumber_mae"])


def test_a_reference_jumps_if_it_turns_often_and_far() -> None:
    limit = Turns(3, 1.5)
    assert is_jumpy(of([2.0, 0.0, 0.3, 0.1, 1.0]), STEP, limit)
    assert not is_jumpy(of([0.3, 0.0, 0.2, 0.1, 0.2]), STEP, limit)  # three turns, of less than 1.5 eV
    assert not is_jumpy(of([9.0, 0.0, 5.0, 4.0, 3.0]), STEP, limit)  # two turns
    assert not is_jumpy(morse(), STEP, limit)

"""Curves of pairs: the measures agree with values by hand, and each error of a curve shows in its measure."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.lj import LennardJones

from tasks.model.calculator import InProcessCalculator
from tasks.simulation.diatomics import (
    conservation,
    diatomic_frames,
    distances,
    energy_jump,
    force_flips,
    measures,
    radial_force,
    tortuosity,
)
from tasks.structures.frames import Float

DEPTH, WIDTH, BOND = 4.5, 2.0, 1.1


def morse(r: Float) -> tuple[Float, Float]:
    """Energy and force of D (1 − exp(−a (r − r0)))² − D."""
    decay = np.exp(-WIDTH * (r - BOND))
    return DEPTH * (1 - decay) ** 2 - DEPTH, -2 * DEPTH * WIDTH * (1 - decay) * decay


def test_distances_go_from_the_wall_to_where_nothing_is_felt() -> None:
    copper, hydrogen = distances("Cu", 100), distances("H", 100)
    assert copper[[0, -1]] == pytest.approx([0.9 * 1.32, 6.0])  # Cordero's radius; 3.1 × 2.38 Å is more than 6 Å
    assert hydrogen[[0, -1]] == pytest.approx([0.9 * 0.31, 3.1 * 1.20])
    assert distances("Fr", 5)[-1] == 6.0  # no van der Waals radius is known
    assert np.ptp(np.diff(np.log(copper))) < 1e-12


def test_pairs_are_as_far_apart_as_they_should_be_and_repel_with_a_positive_force() -> None:
    frames = diatomic_frames(("H", "Ar"), 7, 30.0)
    answer = InProcessCalculator(LennardJones(rc=10.0)).compute(frames, ("energy", "forces"))
    assert answer.forces is not None
    force = radial_force(answer.forces.reshape(2, 7, 2, 3))
    for row, symbol in enumerate(("H", "Ar")):
        for column, r in enumerate(distances(symbol, 7)):
            atoms = frames.atoms(7 * row + column)
            assert atoms.get_chemical_symbols() == [symbol, symbol]
            assert atoms.get_distance(0, 1, mic=True) == pytest.approx(r, rel=1e-12)
            free = Atoms([symbol, symbol], [(0, 0, 0), (0, 0, r)], calculator=LennardJones(rc=10.0))
            assert answer.energy[7 * row + column] == pytest.approx(free.get_potential_energy(), rel=1e-9)
            assert force[row, column] == pytest.approx(24 * (2 * r**-13 - r**-7), rel=1e-9)


def test_a_single_well_is_perfect() -> None:
    r = distances("N", 100)
    curve_measures = measures(r, *morse(r))
    assert curve_measures.force_flips == 1
    assert curve_measures.extra_flips == 0
    assert curve_measures.tortuosity == pytest.approx(1.0, abs=1e-12)
    assert curve_measures.energy_jump == 0.0
    assert curve_measures.conservation < 1e-5


def test_a_wall_alone_and_a_hole_alone_lack_a_flip_and_nothing_else() -> None:
    r = distances("Cu", 100)
    for sign in (1.0, -1.0):
        curve_measures = measures(r, sign * 50.0 / r**6, sign * 300.0 / r**7)
        assert (curve_measures.force_flips, curve_measures.extra_flips, curve_measures.energy_jump) == (0, 1, 0)
        assert curve_measures.tortuosity == pytest.approx(1.0, abs=1e-12)
        assert curve_measures.conservation < 1e-4


def test_a_curve_by_hand() -> None:
    energy = np.array([3.0, 0.0, 2.0, 1.0, 4.0])
    assert tortuosity(energy) == pytest.approx((3 + 2 + 1 + 3) / (3 + 4))
    # It turns at 0 (the well), at 2 (steps 2 and 1) and at 1 (steps 1 and 3).
    assert energy_jump(energy) == pytest.approx(2 + 1 + 1 + 3)
    assert force_flips(np.array([1.0, -1.0, 2.0, -2.0])) == 3
    assert force_flips(np.array([1.0, -0.009, 1.0, -1.0])) == 1  # below 10 meV/Å it counts as none


def test_flat_stretches_are_no_turns() -> None:
    assert energy_jump(np.array([1.0, 0.0, -0.0005, -0.0001, 1.0])) == 0.0  # the well has a flat bottom
    assert energy_jump(np.array([2.0, 1.0, 1.0, 1.0, 0.0, 3.0])) == 0.0
    assert energy_jump(np.zeros(5)) == 0.0
    assert tortuosity(np.zeros(5)) == 1.0


def test_a_fall_behind_the_wall_makes_the_well_a_turn_like_any_other() -> None:
    energy = np.array([-9.0, 5.0, 0.0, 1.0])
    assert energy_jump(energy) == pytest.approx((14 + 5) + (5 + 1))
    assert tortuosity(energy) == pytest.approx((14 + 5 + 1) / (0 + 10))


def test_a_wiggle_is_seen_by_all_measures_of_the_energy_and_its_force() -> None:
    r = distances("N", 300)
    energy, force = morse(r)
    wave = 2 * np.pi / 0.6
    curve_measures = measures(r, energy + 0.3 * np.sin(wave * r), force - 0.3 * wave * np.cos(wave * r))
    # Far out the wiggle alone is left: a flip each half period.
    assert curve_measures.force_flips > 5
    # By hand: from turn to turn the energy goes straight.
    fine = np.linspace(r[0], r[-1], 200_001)
    curve = morse(fine)[0] + 0.3 * np.sin(wave * fine)
    turns = np.concatenate([[0], np.flatnonzero(np.diff(np.sign(np.diff(curve)))) + 1, [len(fine) - 1]])
    way, lowest = np.abs(np.diff(curve[turns])).sum(), curve.min()
    expected = way / (curve[0] - lowest + curve[-1] - lowest)
    assert curve_measures.tortuosity == pytest.approx(expected, rel=5e-3)  # the grid misses each turn a little
    assert curve_measures.tortuosity > 1.05
    assert curve_measures.energy_jump > 0.0
    assert curve_measures.conservation < 1e-3  # the force is that of the wiggle


def test_the_jump_of_a_discontinuity_does_not_shrink_on_a_finer_grid_and_a_wiggles_does() -> None:
    def jumps(n: int) -> tuple[float, float]:
        r = distances("N", n)
        energy = morse(r)[0]
        wiggle = energy + 0.3 * np.sin(2 * np.pi / 0.6 * r)
        return energy_jump(energy - 2.0 * (r > 2.0)), energy_jump(wiggle)

    (coarse_step, coarse_wiggle), (fine_step, fine_wiggle) = jumps(100), jumps(400)
    assert coarse_step == pytest.approx(fine_step, abs=0.5)
    assert fine_step > 1.5
    assert fine_wiggle < 0.5 * coarse_wiggle


def test_conservation_is_relative_on_steep_curves_and_absolute_on_flat_ones() -> None:
    r = distances("Cu", 100)
    # For E = c ln r the rule of Simpson is exact: F = −c / r.
    steep, gentle = 100.0, 1e-2
    assert conservation(r, steep * np.log(r), -steep / r) < 1e-12
    assert conservation(r, steep * np.log(r), -1.01 * steep / r) == pytest.approx(0.01 / 1.01)
    mean_slope = np.mean(gentle * np.log(r[2:] / r[:-2]) / (r[2:] - r[:-2]))
    assert conservation(r, gentle * np.log(r), -1.01 * gentle / r) == pytest.approx(0.01 * mean_slope)
    assert conservation(r, steep * np.log(r), np.zeros_like(r)) == pytest.approx(1.0)


def test_a_wall_of_the_twelfth_power_adds_a_thousandth_at_most() -> None:
    for symbol in ("H", "C", "Cu", "K"):
        r = distances(symbol, 100)
        scaled = r / r[0]
        assert conservation(r, 1e6 * scaled**-12, 12e6 / r[0] * scaled**-13) < 1e-3


def test_what_is_not_finite_has_no_measure() -> None:
    r = distances("N", 50)
    energy, force = morse(r)
    without_forces = measures(r, energy, np.full(50, np.nan))
    assert np.isnan([without_forces.force_flips, without_forces.extra_flips, without_forces.conservation]).all()
    assert (without_forces.tortuosity, without_forces.energy_jump) == (pytest.approx(1.0), 0.0)
    energy[7] = np.nan
    assert np.isnan(measures(r, energy, force)).all()

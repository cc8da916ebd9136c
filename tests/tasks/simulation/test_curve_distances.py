"""ε, ν and Δ by hand, and the shape of energies over volumes against curves whose shape is known."""

from __future__ import annotations

import numpy as np
import pytest
from ase.units import GPa
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from tasks.simulation.birch_murnaghan import EquationOfState, energy
from tasks.simulation.curve_distances import ScanShape, curve_distance, scan_shape


def eos(volume: float, bulk_modulus: float, derivative: float) -> EquationOfState:
    """With the bulk modulus in eV/Å³."""
    return EquationOfState(volume, bulk_modulus / GPa, derivative)


HERE = (20.0, 0.6, 4.5)


@pytest.mark.parametrize(
    ("which", "share", "epsilon", "nu"),
    [(0, 1.01, 0.610727, 0.995025), (1, 1.02, 0.029509, 0.099010), (2, 1.02, 0.002288, 0.004950)],
)
def test_the_closed_forms(which: int, share: float, epsilon: float, nu: float) -> None:
    changed = [value * (share if i == which else 1.0) for i, value in enumerate(HERE)]
    distance = curve_distance(eos(*HERE), eos(*changed))
    assert distance.epsilon == pytest.approx(epsilon, abs=1e-6)
    assert distance.nu == pytest.approx(nu, abs=1e-6)


def test_two_codes_by_hand_on_a_fine_grid() -> None:
    # Actinium, bcc, by FLEUR and by WIEN2k: E. Bosoni et al., Nat. Rev. Phys. 6, 45 (2024), its published results.
    a = eos(45.9380093477724, 0.1538533117002165, 3.404135887998355)
    b = eos(45.94936878258931, 0.15375473111575855, 3.3968407263257436)
    volumes = np.linspace(0.94, 1.06, 200_001) * (a.v0 + b.v0) / 2
    first, second = energy(volumes, a), energy(volumes, b)
    squared = ((first - second) ** 2).mean()
    distance = curve_distance(a, b)
    assert distance.epsilon == pytest.approx(np.sqrt(squared / (first.std() * second.std())), rel=1e-4)
    assert distance.delta == pytest.approx(np.sqrt(squared), rel=1e-4)
    # As near as two all-electron codes are: 0.025 % in volume; of ε ≤ 0.06 and ν ≤ 0.10 the authors say "excellent".
    assert (distance.epsilon, distance.nu) == (pytest.approx(0.01561, abs=1e-5), pytest.approx(0.02494, abs=1e-5))
    relative = [2 * (x - y) / (x + y) for x, y in zip(a[:3], b[:3], strict=True)]
    assert distance.nu == pytest.approx(100 * np.hypot(relative[0], np.hypot(relative[1] / 20, relative[2] / 400)))


@given(st.floats(0.95, 1.05), st.floats(0.5, 2.0), st.floats(0.5, 2.0))
def test_it_is_a_distance(volume: float, stiffness: float, derivative: float) -> None:
    a, b = eos(*HERE), eos(20.0 * volume, 0.6 * stiffness, 4.5 * derivative)
    assert curve_distance(a, b) == pytest.approx(curve_distance(b, a))
    assert curve_distance(a, a) == (0.0, 0.0, 0.0)
    # Energies from another zero are the same curve.
    assert curve_distance(a, b._replace(e0=-7.0)) == curve_distance(a, b)


VOLUMES = 20.0 * np.linspace(0.8, 1.2, 21) ** 3


@pytest.mark.parametrize(
    ("share", "tortuosity", "tension"), [(1.0, 1.0, 1.0), (1.1, 1.01458, 0.9364), (1.2, 1.04880, 0.6273)]
)
def test_a_well_away_from_the_middle(share: float, tortuosity: float, tension: float) -> None:
    shape = scan_shape(VOLUMES, energy(VOLUMES, eos(20.0 * share, 0.6, 4.5)))
    assert shape == pytest.approx(ScanShape(1.0, tortuosity, -1.0, 1.0, tension), abs=1e-4)


@pytest.mark.parametrize(("share", "derivative", "stiffening"), [(1.0, 2.0, 0.866667), (1.1, 2.0, 0.236364)])
def test_the_stiffening_is_of_the_steps_of_the_energy_as_mlip_arena_has_it(
    share: float, derivative: float, stiffening: float
) -> None:
    """A soft wall: over equal steps of the lengths its slope grows, and the steps of the energy do not."""
    energies = energy(VOLUMES, eos(20.0 * share, 0.6, derivative))
    middle, steps = (VOLUMES[1:] + VOLUMES[:-1])[:10] / 2, np.diff(energies)[:10]
    assert scan_shape(VOLUMES, energies).stiffening == pytest.approx(spearmanr(middle, steps).statistic)
    assert scan_shape(VOLUMES, energies).stiffening == pytest.approx(stiffening, abs=1e-6)
    assert spearmanr(middle, steps / np.diff(VOLUMES)[:10]).statistic > stiffening + 0.05


def test_shapes_by_hand() -> None:
    volumes = np.array([5.0, 1.0, 2.0, 3.0, 4.0])
    # In order: 3, 1, 2, 0, 4; the middle is the third. Down, up, down, up: three turns; the way is 2 + 1 + 2 + 4.
    shape = scan_shape(volumes, np.array([4.0, 3.0, 1.0, 2.0, 0.0]))
    assert shape.flips == 3
    assert shape.tortuosity == pytest.approx(9 / (1 + 2))
    assert shape.compression == -1.0
    assert shape.stiffening == 1.0
    assert shape.tension == pytest.approx(0.5)
    flat = scan_shape(volumes, np.zeros(5))
    assert flat == ScanShape(0.0, 1.0, 0.0, 0.0, 0.0)
    assert scan_shape(volumes, np.array([0.0, 0.0, 1.0, 0.0, 0.0])).tortuosity == np.inf

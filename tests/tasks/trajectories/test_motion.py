"""Diffusion, temperature, density, pressure, drift and vibrations of motions that are known."""

from __future__ import annotations

import numpy as np
import pytest
from ase import units
from ase.data import atomic_masses

from tasks.trajectories.diffusion import diffusion_coefficient, mean_squared_displacements
from tasks.trajectories.thermodynamics import (
    densities,
    drift_over_fluctuation,
    energy_drift,
    pressures_bar,
    temperatures,
    time_mean,
)
from tasks.trajectories.vibrational_spectrum import vibrational_spectrum
from tests.tasks.trajectories.runs import free_run, periodic_run


def test_msd_is_the_mean_over_all_pairs_of_frames() -> None:
    positions = np.cumsum(np.random.default_rng(0).normal(size=(30, 4, 3)), axis=0) + 100
    found = mean_squared_displacements(free_run(positions), [0, 2, 3])
    for lag in range(30):
        moved = positions[lag:, [0, 2, 3]] - positions[: 30 - lag, [0, 2, 3]]
        assert found.msd[lag] == pytest.approx((moved**2).sum(axis=2).mean(), abs=1e-9)


def test_a_free_langevin_particle_diffuses_as_known() -> None:
    """BAOAB without force: VACF e^(−γt), D = (kT dt/2m) coth(γ dt/2), here with kT/m = 1, γ = 2/ps, dt = 0.1 ps."""
    random, decay = np.random.default_rng(1), np.exp(-0.2)
    velocity, steps = random.normal(size=(300, 3)), np.zeros((4000, 300, 3))
    for frame in range(1, 4000):
        kicked = decay * velocity + np.sqrt(1 - decay**2) * random.normal(size=(300, 3))
        steps[frame] = 0.05 * (velocity + kicked)
        velocity = kicked
    run = free_run(np.cumsum(steps, axis=0), times_ps=0.1 * np.arange(4000))
    found = diffusion_coefficient(run, range(300), 5.0, 20.0)
    expected = 0.05 / np.tanh(0.1)
    assert found.value == pytest.approx(expected, abs=4 * found.stderr)
    assert found.stderr < 0.05 * expected
    centred = diffusion_coefficient(run, range(300), 5.0, 20.0, about_centre_of_mass=True)
    assert centred.value == pytest.approx(found.value * 299 / 300, rel=0.02)


def test_too_short_a_run_has_no_diffusion_coefficient() -> None:
    run = free_run(np.zeros((50, 2, 3)))
    with pytest.raises(ValueError, match="50 frames, at least 105 are needed to fit lags to 20 ps"):
        diffusion_coefficient(run, [0], 5, 20)
    with pytest.raises(ValueError, match="fewer than 3 lags from 5 to 6 ps"):
        diffusion_coefficient(run, [0], 5, 6)
    with pytest.raises(ValueError, match="n_blocks: 1 block has no scatter"):
        diffusion_coefficient(run, [0], 5, 20, n_blocks=1)


def test_temperature_counts_the_degrees_of_freedom_that_move() -> None:
    random, numbers = np.random.default_rng(2), np.array([1, 8, 8, 6])
    masses = atomic_masses[numbers][:, None]
    velocities = random.normal(size=(20000, 4, 3)) * np.sqrt(units.kB * 300 / masses)
    run = free_run(np.zeros((20000, 4, 3)), numbers, velocities=velocities)
    free = temperatures(run, zero_momentum=False)
    assert free.mean() == pytest.approx(300, rel=0.01)
    assert free.var() == pytest.approx(2 * 300**2 / 12, rel=0.04)  # χ² with 3N degrees of freedom
    still = velocities - (masses * velocities).sum(axis=1, keepdims=True) / masses.sum()
    without = free_run(np.zeros((20000, 4, 3)), numbers, velocities=still)
    assert temperatures(without, zero_momentum=True).mean() == pytest.approx(300, rel=0.01)
    with pytest.raises(ValueError, match="velocities: the trajectory has none"):
        temperatures(free_run(np.zeros((1, 2, 3))), True)


def test_density_and_pressure_of_water_and_of_an_ideal_gas() -> None:
    """501 waters in 24.772 Å are 0.986 g/cm³; N kT/V without stress, which adds −tr σ/3."""
    numbers = np.tile([8, 1, 1], 501)
    water = periodic_run(np.zeros((2, 1503, 3)), [24.772] * 3, numbers)
    assert densities(water)[0] == pytest.approx(0.986, abs=5e-4)
    published = densities(water, np.full(1503, 18.01528 / 3))[0]
    assert published == pytest.approx(501 * 18.01528 / (units.mol * (24.772e-8) ** 3), rel=1e-12)
    velocities = np.full((1, 5, 3), np.sqrt(units.kB * 300 / atomic_masses[6]))
    gas = periodic_run(np.zeros((1, 5, 3)), [10.0, 20.0, 30.0], velocities=velocities)
    ideal = 5 * units.kB * 300 / 6000 / units.bar
    assert pressures_bar(gas, np.zeros((1, 6)))[0] == pytest.approx(ideal)
    tension = np.array([[1.0, 2.0, 3.0, 9, 9, 9]]) * units.bar
    assert pressures_bar(gas, tension)[0] == pytest.approx(ideal - 2)


def test_the_mean_leaves_equilibration_out() -> None:
    """MLIPAudit drops the first ⌊n/5⌋ frames."""
    values = np.concatenate([np.full(2, 100.0), np.arange(10.0)])
    found = time_mean(values, 0.2)
    assert (found.mean, found.n_frames) == (4.5, 10)
    assert found.stderr == pytest.approx(np.std([0.5, 2.5, 4.5, 6.5, 8.5], ddof=1) / np.sqrt(5))
    assert np.isnan(time_mean(np.array([np.nan, 1.0]), n_blocks=2).mean)
    with pytest.raises(ValueError, match="2 frames for 5 blocks"):
        time_mean(np.ones(2))


def test_a_curl_force_drifts_at_its_known_rate_and_a_harmonic_one_does_not() -> None:
    """On a circle, F = −r + ε ẑ×r does work at the rate ε ω r²: E grows as exp(ε t)."""
    energies = {}
    for curl in (0.0, 1e-4):
        r, v, kept = np.array([1.0, 0.0]), np.array([0.0, 1.0]), []
        for _ in range(20001):
            kept.append((v @ v + r @ r) / 2)
            v = v + 0.005 * (-r + curl * np.array([-r[1], r[0]]))
            r = r + 0.01 * v
            v = v + 0.005 * (-r + curl * np.array([-r[1], r[0]]))
        energies[curl] = np.array(kept)
    times = 0.01 * np.arange(20001)
    assert energy_drift(times, energies[1e-4]).slope == pytest.approx((np.exp(0.02) - 1) / 200, rel=1e-3)
    assert abs(energy_drift(times, energies[0.0]).slope) < 1e-9
    ratio = drift_over_fluctuation(np.arange(4.0), np.arange(4.0), np.arange(4.0))
    assert ratio == pytest.approx(3 / np.std(np.arange(4)))
    assert np.isnan(drift_over_fluctuation(np.arange(4.0), np.arange(4.0), np.ones(4)))
    with pytest.raises(ValueError, match="2 frames are left to fit"):
        energy_drift(np.arange(4.0), np.arange(4.0), 0.5)


@pytest.mark.parametrize("window", ["hann", "boxcar"])
def test_a_harmonic_oscillator_is_one_line(window: str) -> None:
    """50 THz is 1668 cm⁻¹, in the segment that is stated; another motion before it does not count."""
    times = 0.002 * np.arange(4000)
    velocities = np.zeros((4000, 2, 3))
    velocities[:, 0, 1] = np.where(times < 4, np.cos(2 * np.pi * 20 * times), np.cos(2 * np.pi * 50 * times))
    run = free_run(np.zeros((4000, 2, 3)), velocities=velocities, times_ps=times)
    spectrum = vibrational_spectrum(run, 4.0, 8.0, window=window)
    top = np.argmax(spectrum.density)
    assert spectrum.frequency_thz[top] == pytest.approx(50, abs=0.2)
    assert spectrum.wavenumber[top] == pytest.approx(1667.8, abs=7)
    assert spectrum.density.sum() * spectrum.frequency_thz[1] == pytest.approx(1)
    near = np.abs(spectrum.frequency_thz - 50) < 1
    assert spectrum.density[near].sum() / spectrum.density.sum() > 0.9
    with pytest.raises(ValueError, match="nothing moves in the segment"):
        vibrational_spectrum(run, 4.0, 8.0, [1])
    with pytest.raises(ValueError, match="at least 4 are needed"):
        vibrational_spectrum(run, 4.0, 4.002)

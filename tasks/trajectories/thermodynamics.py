"""Temperature, density and pressure of each frame, their means, and the drift of an energy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from ase import units
from ase.data import atomic_masses

from tasks.structures.frames import Float
from tasks.trajectories.straight_lines import fit_slopes
from tasks.trajectories.trajectory import Trajectory, frame_slices

G_PER_CM3 = 1e24 / units.mol  # one u/Å³


class TimeMean(NamedTuple):
    """The mean over the frames after equilibration, and its standard error from blocks."""

    mean: float
    stderr: float
    n_frames: int


class EnergyDrift(NamedTuple):
    """Slope of the straight line through an energy over time, and its standard error [eV/ps]."""

    slope: float
    stderr: float


def kinetic_energies_of(trajectory: Trajectory) -> Float:
    """(f,) kinetic energies [eV].

    Raises:
        ValueError: the trajectory has no velocities.
    """
    if trajectory.velocities is None:
        raise ValueError("velocities: the trajectory has none: store them with the positions")
    masses = atomic_masses[trajectory.numbers]
    kinetic = np.empty(len(trajectory))
    for frames in frame_slices(len(trajectory), 3 * trajectory.n_atoms):
        velocities = trajectory.velocities[frames]
        kinetic[frames] = 0.5 * np.einsum("n,fnk,fnk->f", masses, velocities, velocities)
    return kinetic


def temperatures(trajectory: Trajectory, zero_momentum: bool) -> Float:
    """(f,) kinetic temperatures [K].

    Args:
        zero_momentum: whether the total momentum is zero in the run: 3N − 3 degrees of freedom move instead of 3N.

    Raises:
        ValueError: no velocities, or a single atom without momentum.
    """
    freedom = 3 * trajectory.n_atoms - (3 if zero_momentum else 0)
    if freedom == 0:
        raise ValueError("zero_momentum: a single atom without momentum has no temperature")
    return np.asarray(2 * kinetic_energies_of(trajectory) / (freedom * units.kB))


def densities(trajectory: Trajectory, masses: Float | None = None) -> Float:
    """(f,) mass densities [g/cm³].

    Args:
        masses: (N,) [u]; None for standard atomic masses, as ASE has them.

    Raises:
        ValueError: not periodic in three directions, or masses of another number of atoms.
    """
    chosen = atomic_masses[trajectory.numbers] if masses is None else np.asarray(masses, np.float64)
    if chosen.shape != trajectory.numbers.shape or not (chosen > 0).all():
        raise ValueError(f"masses must be {trajectory.n_atoms} positive numbers, one for each atom")
    return np.asarray(chosen.sum() * G_PER_CM3 / trajectory.volumes())


def pressures_bar(trajectory: Trajectory, stresses: Float) -> Float:
    """(f,) pressures [bar]: 2/3 of the kinetic energy per volume, less a third of the trace of the stress.

    Args:
        stresses: (f, 6) of the potential energy [eV/Å³], ASE's order, positive in tension.

    Raises:
        ValueError: no velocities, not periodic in three directions, or stresses of another number of frames.
    """
    if np.shape(stresses) != (len(trajectory), 6):
        raise ValueError(f"stresses must have shape ({len(trajectory)}, 6), not {np.shape(stresses)}")
    kinetic = 2 * kinetic_energies_of(trajectory) / (3 * trajectory.volumes())
    return np.asarray((kinetic - np.asarray(stresses, np.float64)[:, :3].mean(axis=1)) / units.bar)


def time_mean(values: Float, discard_fraction: float = 0.0, n_blocks: int = 5) -> TimeMean:
    """The mean of `values` (f,) after equilibration; NaN if one of them is.

    Args:
        discard_fraction: of the frames, left out at the beginning, rounded down.
        n_blocks: consecutive blocks whose scatter gives the standard error.

    Raises:
        ValueError: fewer frames than blocks are left, or fewer than 2 blocks.
    """
    if not 0 <= discard_fraction < 1:
        raise ValueError(f"discard_fraction must be at least 0 and less than 1, not {discard_fraction:g}")
    kept = np.asarray(values)[int(discard_fraction * len(values) + 1e-9) :]
    if n_blocks < 2 or len(kept) < n_blocks:
        raise ValueError(f"n_blocks: {len(kept)} frames for {n_blocks} blocks: at least 2 blocks of a frame are needed")
    means = np.array([block.mean() for block in np.array_split(kept, n_blocks)])
    return TimeMean(float(kept.mean()), float(means.std(ddof=1) / np.sqrt(n_blocks)), len(kept))


def energy_drift(times_ps: Float, energies: Float, discard_fraction: float = 0.0) -> EnergyDrift:
    """The drift of `energies` (f,) [eV] over `times_ps` (f,), after the first `discard_fraction` of the frames.

    Raises:
        ValueError: fewer than 3 frames are left, or the arrays differ in length.
    """
    if np.shape(times_ps) != np.shape(energies):
        raise ValueError(f"energies: {len(energies)} of them for {len(times_ps)} frames: give one for each frame")
    first = int(discard_fraction * len(times_ps) + 1e-9)
    if len(times_ps) - first < 3:
        raise ValueError(f"energies: {len(times_ps) - first} frames are left to fit, at least 3 are needed: run longer")
    slopes = fit_slopes(np.asarray(times_ps[first:]), np.asarray(energies)[None, first:])
    return EnergyDrift(float(slopes.slope[0]), float(slopes.stderr[0]))


def drift_over_fluctuation(times_ps: Float, total_energies: Float, kinetic_energies: Float) -> float:
    """|slope| · duration / σ(kinetic energy), as MLIPAudit 0.1.8 scores it; NaN where σ is 0 or an energy is NaN.

    Args:
        times_ps, total_energies, kinetic_energies: (f,) each [ps; eV; eV].

    Raises:
        ValueError: see `energy_drift`.
    """
    spread = float(np.std(kinetic_energies))
    slope = energy_drift(times_ps, total_energies).slope
    return abs(slope) * float(times_ps[-1] - times_ps[0]) / spread if spread > 0 else float("nan")

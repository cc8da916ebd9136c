"""Mean squared displacements, and diffusion coefficients by Einstein's relation MSD = 6 D t."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from ase.data import atomic_masses

from tasks.structures.frames import Float, Int
from tasks.trajectories.straight_lines import fit_slopes
from tasks.trajectories.trajectory import Trajectory, frame_slices

CM2_PER_S = 1e-4  # one Å²/ps


class Displacements(NamedTuple):
    """(f,) each: times between two frames [ps], and the mean squared displacement in that time [Å²]."""

    lag_ps: Float
    msd: Float


class DiffusionCoefficient(NamedTuple):
    """D and its standard error [Å²/ps]; times `CM2_PER_S` in cm²/s."""

    value: float
    stderr: float


def mean_squared_displacements(
    trajectory: Trajectory, atoms: Sequence[int] | Int, about_centre_of_mass: bool = False
) -> Displacements:
    """The mean over `atoms` and all pairs of frames of each distance in time, from unwrapped positions.

    Args:
        about_centre_of_mass: of all atoms, whose own motion a thermostat or rounding may cause.

    Raises:
        ValueError: atoms that do not exist, fewer than 3 frames, or frames that are not equally spaced.
    """
    chosen = trajectory.atom_indices("atoms", atoms)
    step_ps = trajectory.time_step_ps(3)
    positions = trajectory.finite_positions()
    n = len(trajectory)
    total = np.zeros(n)
    for block in frame_slices(len(chosen), 6 * n):
        moving = positions[:, chosen[block]]
        if about_centre_of_mass:
            moving = moving - _centres_of_mass(trajectory)[:, None]
        # Small numbers: the squares below cancel.
        total += _summed_squares((moving - moving.mean(axis=0)).reshape(n, -1))
    return Displacements(np.arange(n, dtype=np.float64) * step_ps, total / (len(chosen) * np.arange(n, 0, -1)))


def diffusion_coefficient(
    trajectory: Trajectory,
    atoms: Sequence[int] | Int,
    from_ps: float,
    to_ps: float,
    n_blocks: int = 5,
    about_centre_of_mass: bool = False,
) -> DiffusionCoefficient:
    """A sixth of the slope of the MSD between two lags; its error from the scatter of consecutive blocks.

    Args:
        from_ps, to_ps: the lags between which a line is fitted [ps].
        n_blocks: parts of the trajectory, each longer than `to_ps`.

    Raises:
        ValueError: blocks shorter than `to_ps`, fewer than 3 lags to fit, fewer than 2 blocks; see also
            `mean_squared_displacements`.
    """
    step_ps = trajectory.time_step_ps(3)
    length = len(trajectory) // max(n_blocks, 1)
    if n_blocks < 2:
        raise ValueError(f"n_blocks: {n_blocks} block has no scatter: state at least 2")
    if (length - 1) * step_ps < to_ps * (1 - 1e-9):
        needed = int(np.ceil(to_ps / step_ps) + 1) * n_blocks
        raise ValueError(
            f"times_ps: {len(trajectory)} frames, at least {needed} are needed to fit lags to {to_ps:g} ps"
        )
    value = _slope(mean_squared_displacements(trajectory, atoms, about_centre_of_mass), from_ps, to_ps) / 6
    blocks = [
        trajectory.segment(trajectory.times_ps[start], trajectory.times_ps[start + length - 1])
        for start in range(0, n_blocks * length, length)
    ]
    slopes = [_slope(mean_squared_displacements(part, atoms, about_centre_of_mass), from_ps, to_ps) for part in blocks]
    return DiffusionCoefficient(value, float(np.std(slopes, ddof=1) / 6 / np.sqrt(n_blocks)))


def _slope(displacements: Displacements, from_ps: float, to_ps: float) -> float:
    """Slope of the MSD [Å²/ps] over the lags from `from_ps` to `to_ps`."""
    rounding = 1e-9 * max(to_ps, 0.0)
    fitted = (displacements.lag_ps >= from_ps - rounding) & (displacements.lag_ps <= to_ps + rounding)
    if fitted.sum() < 3:
        raise ValueError(f"from_ps, to_ps: fewer than 3 lags from {from_ps:g} to {to_ps:g} ps: widen the window")
    return float(fit_slopes(displacements.lag_ps[fitted], displacements.msd[None, fitted]).slope[0])


def _centres_of_mass(trajectory: Trajectory) -> Float:
    """(f, 3) [Å]."""
    masses = atomic_masses[trajectory.numbers]
    return np.asarray(np.einsum("n,fnk->fk", masses, trajectory.positions) / masses.sum())


def _summed_squares(x: Float) -> Float:
    """(f,) Σ_t Σ_columns (x[t + lag] − x[t])² for each lag, of `x` (f, m), by Fourier transform."""
    from scipy.fft import irfft, next_fast_len, rfft  # slow to import, and only needed here

    n = len(x)
    size = next_fast_len(2 * n, real=True)
    spectrum = rfft(x, size, axis=0)
    products = irfft((spectrum.real**2 + spectrum.imag**2).sum(axis=1), size)[:n]
    squares = np.concatenate([[0.0], np.cumsum((x**2).sum(axis=1))])
    lags = np.arange(n)
    # Squares of the first and the last n − lag frames.
    return np.asarray(squares[n - lags] + squares[n] - squares[lags] - 2 * products)

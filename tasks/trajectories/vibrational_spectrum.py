"""The vibrational density of states, from the velocities of one stated segment of a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from ase.data import atomic_masses

from tasks.structures.frames import Float, Int
from tasks.trajectories.trajectory import Trajectory, frame_slices

WAVENUMBERS_PER_THZ = 1e10 / 299_792_458.0  # cm⁻¹, exactly


class VibrationalSpectrum(NamedTuple):
    """The density of states at k frequencies.

    Args:
        frequency_thz: (k,) from 0 to half of the rate of the stored frames.
        wavenumber: (k,) the same in cm⁻¹.
        density: (k,) [1/THz], of integral 1: the sum times the distance of two frequencies.
    """

    frequency_thz: Float
    wavenumber: Float
    density: Float


def vibrational_spectrum(
    trajectory: Trajectory,
    start_ps: float,
    end_ps: float,
    atoms: Sequence[int] | Int | None = None,
    window: str = "hann",
) -> VibrationalSpectrum:
    """The mass-weighted power spectrum of the velocities from `start_ps` to `end_ps`, zero-padded to twice the length.

    By Wiener and Khinchin this is the transform of the velocity autocorrelation. Motion faster than half of the rate
    of the stored frames is folded back: store a frame every 4 fs at least where hydrogen moves.

    Args:
        atoms: None for all.
        window: a name that `scipy.signal.get_window` knows: "hann", or "boxcar" for none.

    Raises:
        ValueError: no velocities, fewer than 4 frames in the segment, not equally spaced, or nothing moves.
    """
    from scipy.fft import rfft  # slow to import, and only needed here
    from scipy.signal import get_window

    segment = trajectory.segment(start_ps, end_ps)
    if segment.velocities is None:
        raise ValueError("velocities: the trajectory has none: store them with the positions")
    step_ps = segment.time_step_ps(4)
    chosen = np.arange(segment.n_atoms) if atoms is None else segment.atom_indices("atoms", atoms)
    taper, size = get_window(window, len(segment), fftbins=False)[:, None, None], 2 * len(segment)
    power = np.zeros(size // 2 + 1)
    for block in frame_slices(len(chosen), 6 * size):
        transform = rfft(segment.velocities[:, chosen[block]] * taper, size, axis=0)
        squares = transform.real**2 + transform.imag**2
        power += np.einsum("n,fnk->f", atomic_masses[segment.numbers[chosen[block]]], squares)
    frequency = np.asarray(np.fft.rfftfreq(size, step_ps), np.float64)  # 1/ps is THz
    total = power.sum() * frequency[1]
    if not total > 0:
        raise ValueError("velocities: nothing moves in the segment, or a velocity is not finite: state another segment")
    return VibrationalSpectrum(frequency, frequency * WAVENUMBERS_PER_THZ, power / total)


def spectrum_of_positions(
    trajectory: Trajectory, start_ps: float, end_ps: float, atoms: Sequence[int] | Int | None = None
) -> VibrationalSpectrum:
    """The same of a trajectory of positions: velocities are their differences from frame to frame.

    A difference over a time step Δ weakens a motion of angular frequency ω by sin(ωΔ/2) / (ωΔ/2), which is taken out.

    Raises:
        ValueError: fewer than 5 frames in the segment, not equally spaced, or nothing moves.
    """
    segment = trajectory.segment(start_ps, end_ps)
    step_ps = segment.time_step_ps(5)
    differences = np.diff(segment.finite_positions(), axis=0) / step_ps
    between = replace(segment.first_frames(len(segment) - 1), velocities=differences)
    spectrum = vibrational_spectrum(between, start_ps, end_ps, atoms)
    density = spectrum.density / np.sinc(spectrum.frequency_thz * step_ps) ** 2
    return spectrum._replace(density=density / (density.sum() * spectrum.frequency_thz[1]))

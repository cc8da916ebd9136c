"""The part of an energy that follows from composition alone: a constant per element, fitted by least squares."""

from __future__ import annotations

import numpy as np

from tasks.structures.frames import Bool, Float, Frames

# Compositions that differ by less than this share of the largest count as linearly dependent.
RCOND = 1e-10


def composition(frames: Frames) -> Float:
    """(n, k) how many atoms of each of the k elements that occur, by atomic number, each structure has."""
    # Numbers up to 118 are counted directly: sorting the atoms to find the elements would take longer.
    occurs = np.bincount(frames.numbers, minlength=119) > 0
    column, k = np.cumsum(occurs) - 1, int(occurs.sum())
    counts = np.bincount(frames.frame_index * k + column[frames.numbers], minlength=len(frames) * k)
    return np.asarray(counts.reshape(len(frames), k), np.float64)


def composition_energy(counts: Float, energies: Float, used: Bool) -> Float:
    """(n,) Σ_elements count × constant [eV], the constants from unweighted least squares on total energies.

    Args:
        counts: (n, k) as from `composition`.
        energies: (n,) [eV].
        used: (n,) the structures to fit to; the constants are then held for all.

    The solution of least norm is taken where compositions do not determine the constants, so an element that occurs
    in no structure that is used has the constant 0.
    """
    if not used.any():
        return np.zeros(len(counts))
    constants = np.linalg.lstsq(counts[used], energies[used], rcond=RCOND)[0]
    return np.asarray(counts @ constants)

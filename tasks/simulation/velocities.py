"""Initial momenta for dynamics, drawn from a given seed: the same on every machine and with every ASE version."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ase.data import atomic_masses
from ase.units import kB

from tasks.structures.frames import Float, Frames


def masses_of(frames: Frames) -> Float:
    """(N,) standard atomic masses [u], as ASE has them."""
    return np.asarray(atomic_masses[frames.numbers], np.float64)


def kinetic_energies(momenta: Float, masses: Float, starts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Float:
    """(n,) kinetic energy [eV] of structures that begin at `starts` (n,) in `momenta` (N, 3) and `masses` (N,)."""
    return np.asarray(np.add.reduceat(0.5 * np.einsum("ij,ij->i", momenta, momenta) / masses, starts))


def thermal_momenta(frames: Frames, temperature_k: float | Float, seed: int | Sequence[int]) -> Float:
    """(N, 3) momenta [ASE units: u·Å per Å·sqrt(u/eV)] drawn from Maxwell and Boltzmann at `temperature_k` [K].

    Temperatures (n,) are those of the structures.

    Each structure has its own `numpy.random.default_rng(seed)`, so that its trajectory does not depend on the other
    structures of the data set; replicas need seeds (n,) of their own. Its drift and its rotation about the centre of
    mass are removed, and the rest is scaled to the kinetic energy as drawn: the same as ASE's
    MaxwellBoltzmannDistribution, Stationary and ZeroRotation in turn.
    The rotation of a periodic structure has no meaning; it is removed as well, because LAMBench does so (nve_md.py at
    commit 53663f0).
    """
    masses = masses_of(frames)
    momenta = np.empty((len(masses), 3))
    seeds = [seed] * len(frames) if isinstance(seed, int) else seed
    temperatures = np.broadcast_to(temperature_k, len(frames)).tolist()
    for index in range(len(frames)):
        atoms = frames.atom_slice(index)
        drawn = np.random.default_rng(seeds[index]).standard_normal((int(frames.n_atoms[index]), 3))
        drawn *= np.sqrt(masses[atoms] * (kB * temperatures[index]))[:, None]
        momenta[atoms] = _without_drift(drawn, masses[atoms], frames.positions[atoms])
    return momenta


def _without_drift(momenta: Float, masses: Float, positions: Float) -> Float:
    """(m, 3) momenta of one structure without drift and rotation, at the same kinetic energy."""
    drawn = float((momenta**2 / masses[:, None]).sum())
    internal = momenta - masses[:, None] * momenta.sum(axis=0) / masses.sum()
    arm = positions - masses @ positions / masses.sum()
    angular = np.cross(arm, internal).sum(axis=0)
    square = np.einsum("i,ij,ij->", masses, arm, arm)
    inertia = square * np.eye(3) - np.einsum("i,ij,ik->jk", masses, arm, arm)
    # The pseudo-inverse leaves out the axis of a linear molecule, about which nothing can rotate.
    omega = np.linalg.pinv(inertia, rcond=1e-8, hermitian=True) @ angular
    internal = internal - masses[:, None] * np.cross(omega, arm)
    left = float((internal**2 / masses[:, None]).sum())
    # A single atom has no motion besides drift, and nothing to scale.
    return internal * np.sqrt(drawn / left) if left > 1e-12 * drawn else np.zeros_like(momenta)

"""Initial momenta for dynamics, drawn from a given generator: the same on every machine and with every ASE version."""

from __future__ import annotations

import numpy as np
from ase.data import atomic_masses
from ase.units import kB

from tasks.frames import Float, Frames


def masses_of(frames: Frames) -> Float:
    """(N,) standard atomic masses [u], as ASE has them."""
    return np.asarray(atomic_masses[frames.numbers], np.float64)


def kinetic_energies(momenta: Float, masses: Float, starts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Float:
    """(n,) kinetic energy [eV] of structures that begin at `starts` (n,) in `momenta` (N, 3) and `masses` (N,)."""
    return np.asarray(np.add.reduceat(0.5 * np.einsum("ij,ij->i", momenta, momenta) / masses, starts))


def thermal_momenta(frames: Frames, temperature_k: float, rng: np.random.Generator) -> Float:
    """(N, 3) momenta [ASE units: u·Å per Å·sqrt(u/eV)] drawn from Maxwell and Boltzmann at `temperature_k` [K].

    Then the drift of each structure is taken out, and the rotation of those that are periodic in no direction; what is
    left is scaled so that the kinetic energy stays as drawn.
    """
    masses = masses_of(frames)
    momenta = rng.standard_normal((len(masses), 3)) * np.sqrt(masses * kB * temperature_k)[:, None]
    for index in range(len(frames)):
        atoms = frames.atom_slice(index)
        free = not frames.pbc[index].any()
        momenta[atoms] = _settled(momenta[atoms], masses[atoms], frames.positions[atoms], free)
    return momenta


def _settled(momenta: Float, masses: Float, positions: Float, free: bool) -> Float:
    drawn = float((momenta**2 / masses[:, None]).sum())
    settled = momenta - masses[:, None] * momenta.sum(axis=0) / masses.sum()
    if free:
        arm = positions - masses @ positions / masses.sum()
        angular = np.cross(arm, settled).sum(axis=0)
        square = np.einsum("i,ij,ij->", masses, arm, arm)
        inertia = square * np.eye(3) - np.einsum("i,ij,ik->jk", masses, arm, arm)
        # The inverse leaves out the axis of a linear molecule, about which nothing can rotate.
        omega = np.linalg.pinv(inertia, rcond=1e-8, hermitian=True) @ angular
        settled = settled - masses[:, None] * np.cross(omega, arm)
    left = float((settled**2 / masses[:, None]).sum())
    # A single atom has no motion but drift: nothing is left to scale.
    return settled * np.sqrt(drawn / left) if left > 1e-12 * drawn else np.zeros_like(momenta)

"""Trains kernel ridge regression of energies and forces, in the time that there is.

The energy is that of the composition, and a sum over atoms of kernels between each atom's environment and those of some
atoms of the training frames: a sparse Gaussian approximation (doi:10.1103/PhysRevLett.104.136403). Energies and forces
of the frames make linear equations for its weights. Frames are taken in a random order until the time is nearly up; a
tenth of them, at most 40, chooses the regularisation. With time for all frames, the seed decides the model; else speed
does too.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from environments import Environments, Structure
from kernel import MODEL, SparseKernel, composition, rows

N_COLUMNS = 150
N_CENTRES = 1600  # at a wall time of 40 s: on two cores there is time for 1,000 frames of aspirin
MAX_CENTRES = 6000
ENERGY_WEIGHT = 10.0  # 1/Å: one energy counts as much as a force of this many times its size
FRAMES_AT_ONCE = 10
MOST_HELD_OUT = 40
NUGGET = 1e-5  # keeps the rounding of float32 slopes out of the solution
REGULARISATION = 10.0 ** np.arange(-9, 1)
ROUNDING = 1e-8  # of the largest eigenvalue: smaller ones are not known, since slopes are in float32
USUAL = 4


class Training(NamedTuple):
    """Frames with energies (n,) [eV], and forces (N_i, 3) [eV/Å] of each."""

    structures: list[Structure]
    energies: np.ndarray
    forces: list[np.ndarray]


class Equations(NamedTuple):
    """The normal equations A w = b of some frames: (M, M) and (M,)."""

    a: np.ndarray
    b: np.ndarray


def train(data_dir: str, out_dir: str, wall_s: float, seed: int) -> None:
    """Writes the model into `out_dir`: of compositions alone, then of a quarter of the frames, then of all."""
    started = time.monotonic()
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    training = read(Path(data_dir) / "frames.npz")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(training.structures))
    n_held_out = min(len(order) // 10, MOST_HELD_OUT)
    some = [training.structures[i] for i in order[n_held_out:]]
    environments = Environments.learn(some, N_COLUMNS)
    counts = np.array([composition(s.numbers, environments.elements) for s in training.structures])
    atomic = np.linalg.lstsq(counts, training.energies, rcond=None)[0]
    wanted = min(int(N_CENTRES * np.sqrt(max(wall_s, 1.0) / 40)), MAX_CENTRES)
    model = choose_centres(environments, atomic, some, wanted, rng)
    write(model, out_dir)

    whitening = inverse_root(model)
    energies = training.energies - counts @ atomic

    def before(share: float, reserved_s: float = 0.0) -> Callable[[], bool]:
        return lambda: not stopped and time.monotonic() - started < share * wall_s - reserved_s

    held_out = equations(model, training, energies, order[:n_held_out], before(0.3))
    learned = order[n_held_out:]
    n_first = 1 + len(learned) // 4
    first = equations(model, training, energies, learned[:n_first], before(0.4))
    begun = time.monotonic()
    model.weights[:] = solve(first, held_out, whitening)
    write(model, out_dir)
    solving_s = time.monotonic() - begun

    others = equations(model, training, energies, learned[n_first:], before(0.9, 1.5 * solving_s))
    model.weights[:] = solve(Equations(first.a + others.a, first.b + others.b), held_out, whitening)
    write(model, out_dir)


def read(path: Path) -> Training:
    """The frames of `frames.npz`."""
    with np.load(path) as data:
        starts = np.cumsum(data["n_atoms"])[:-1]
        numbers, positions = np.split(data["numbers"], starts), np.split(data["positions"], starts)
        structures = [Structure(*fields) for fields in zip(numbers, positions, data["cell"], data["pbc"], strict=True)]
        return Training(structures, data["energy"], np.split(data["forces"], starts))


def choose_centres(
    environments: Environments,
    atomic: np.ndarray,
    structures: Sequence[Structure],
    wanted: int,
    rng: np.random.Generator,
) -> SparseKernel:
    """A model with about `wanted` centres, of each element according to its number of atoms; its weights are 0."""
    n_atoms = np.cumsum([len(s.numbers) for s in structures])
    pool = structures[: 1 + int(np.searchsorted(n_atoms, 2 * wanted))]
    values, species = [], []
    for start in range(0, len(pool), FRAMES_AT_ONCE):
        described = environments.describe(pool[start : start + FRAMES_AT_ONCE])
        values.append(described.values)
        species.append(described.species)
    value, kind = np.concatenate(values), np.concatenate(species)
    chosen = np.sort(rng.permutation(len(kind))[:wanted])
    centres = [value[chosen[kind[chosen] == index]] for index in range(len(environments.elements))]
    widths = [max(np.sqrt(np.sum(np.var(value[kind == i], axis=0))), 1e-3) for i in range(len(centres))]
    return SparseKernel(environments, atomic, centres, np.array(widths), np.zeros(sum(map(len, centres))))


def inverse_root(model: SparseKernel) -> np.ndarray:
    """W (M, M) with Wᵀ (K + NUGGET) W = 1 for the kernel K between the centres."""
    kernel = model.between_centres()
    eigenvalues, vectors = np.linalg.eigh(kernel)
    return np.asarray(vectors / np.sqrt(np.maximum(eigenvalues, 0) + NUGGET))


def equations(
    model: SparseKernel, training: Training, energies: np.ndarray, frames: np.ndarray, go_on: Callable[[], bool]
) -> Equations:
    """The normal equations of as many of `frames` as there is time for."""
    a, b = np.zeros((len(model.weights),) * 2), np.zeros(len(model.weights))
    for start in range(0, len(frames), FRAMES_AT_ONCE):
        if not go_on():
            break
        some = frames[start : start + FRAMES_AT_ONCE]
        energy, forces = rows(model, [training.structures[i] for i in some])
        matrix = np.concatenate([ENERGY_WEIGHT * energy, forces.reshape(-1, len(b))])
        target = np.concatenate([ENERGY_WEIGHT * energies[some], *(training.forces[i].ravel() for i in some)])
        a += matrix.T @ matrix
        b += matrix.T @ target
    return Equations(a, b)


def solve(fitted: Equations, held_out: Equations, whitening: np.ndarray) -> np.ndarray:
    """The weights (M,) of all frames together, with the regularisation that suits those held out best."""

    def whitened(e: Equations) -> Equations:
        return Equations(whitening.T @ e.a @ whitening, whitening.T @ e.b)

    inner, outer = whitened(fitted), whitened(held_out)
    solved = regularised(inner)
    strengths = REGULARISATION * max(float(np.trace(inner.a)) / len(inner.b), 1e-12)

    def error(strength: float) -> float:
        w = solved(strength)
        return float(w @ outer.a @ w - 2 * w @ outer.b)

    # Without time for a frame that is held out, a value that suits molecules.
    best = min(strengths, key=error) if outer.b.any() else strengths[USUAL]
    return np.asarray(whitening @ regularised(Equations(inner.a + outer.a, inner.b + outer.b))(best))


def regularised(equations: Equations) -> Callable[[float], np.ndarray]:
    """The solution (M,) by the strength of its regularisation, which is at least that of rounding."""
    eigenvalues, vectors = np.linalg.eigh(equations.a)
    projected, rounding = vectors.T @ equations.b, ROUNDING * max(float(eigenvalues[-1]), 0.0)
    known = np.maximum(eigenvalues, 0)
    return lambda strength: np.asarray(vectors @ (projected / (known + max(strength, rounding))))


def write(model: SparseKernel, out_dir: str) -> None:
    """Writes the model as a whole: a trainer that is stopped leaves the one before."""
    temporary = Path(out_dir) / "unfinished.npz"
    np.savez(temporary, **model.arrays())
    os.replace(temporary, Path(out_dir) / MODEL)

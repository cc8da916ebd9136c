"""Times of larger and larger crystals, liquids and molecules: `judge plan` estimates from them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from ase import Atoms

from submissions.preflight.public_structures import SEED, public_structures, stated_molecule
from submissions.records import Timing
from tasks.model.calculator import BatchCalculator
from tasks.structures.frames import Float, Frames

LARGEST = 1024  # atoms
LONGEST_S = 2.0  # expected time of a call; all calls of a slow model then take about fifteen seconds
GAP = 2.4  # Å, between the nuclei of neighbouring molecules
GAP_IN_LIQUID = 2.0  # Å; then acetic acid has about its density, 0.08 atoms/Å³


def blocks() -> tuple[tuple[Atoms, ...], ...]:
    """Crystals, liquids and molecules: of each sort the first one that gets an answer is doubled.

    Acetic acid comes first: as in most molecules of test sets, half of its atoms are not hydrogen.
    """
    known = public_structures()
    crystals = (known["rock salt"], known["copper crystal"], known["silicon crystal"])
    molecules = [stated_molecule(name) for name in ("CH3COOH", "H2O")]
    for atoms in molecules:
        atoms.positions += np.random.default_rng(SEED).normal(0.0, 0.05, atoms.positions.shape)
    return crystals, tuple(map(in_liquid, molecules)), tuple(molecules)


def in_liquid(atoms: Atoms) -> Atoms:
    """A molecule in a periodic cell, with `GAP_IN_LIQUID` between it and its images."""
    liquid: Atoms = atoms.copy()
    liquid.set_cell(np.ptp(atoms.positions, axis=0) + GAP_IN_LIQUID)
    liquid.pbc = True
    return liquid


def doubled(atoms: Atoms) -> Atoms:
    """Twice `atoms`, as compact as it can be: a periodic one is repeated, a molecule gets a copy `GAP` beside it."""
    if atoms.pbc.all():
        shortest = int(np.argmin(atoms.cell.lengths()))
        repeated: Atoms = atoms.repeat(tuple(2 if axis == shortest else 1 for axis in range(3)))
        return repeated
    extents = np.ptp(atoms.positions, axis=0) + GAP
    shortest = int(np.argmin(extents))
    copy = atoms.copy()
    copy.positions[:, shortest] += extents[shortest]
    together: Atoms = atoms + copy
    return together


def time_larger(model: BatchCalculator) -> Iterator[Timing]:
    """Times of a crystal, of a liquid and of a molecule, and of 2, 4, 8 … times each, as they are measured."""
    for sort in blocks():
        for block in sort:
            answered = False
            for timing in time_doubled(model, block):
                yield timing  # at once: the model may die of the next structure
                answered = True
            if answered:
                break


def time_doubled(model: BatchCalculator, atoms: Atoms) -> Iterator[Timing]:
    """Times of 1, 2, 4 … times `atoms`, up to `LARGEST`.

    They end where the model fails, or where a call would take longer than `LONGEST_S` if the time of the next grew with
    the square of the atoms, or as it grew before (at most with the cube).
    """
    growth, before = 4.0, 0.0
    while len(atoms) <= LARGEST:
        seconds = seconds_of(model, atoms)
        if seconds is None:
            return
        yield timing_of(atoms, seconds)
        if before:
            growth = float(np.clip(seconds / before, 4.0, 8.0))
        if growth * seconds > LONGEST_S:
            return
        atoms, before = doubled(atoms), seconds


def timing_of(atoms: Atoms, seconds: float) -> Timing:
    density = len(atoms) / atoms.get_volume() if atoms.pbc.all() else 0.0
    return Timing(n_atoms=len(atoms), seconds=seconds, density=density)


def seconds_of(model: BatchCalculator, atoms: Atoms) -> float | None:
    """Time of energy, forces and stress of one rattled frame [s], after a first call that is not timed.

    The shortest of three calls, since other work on the host only adds to it; of fewer, if they take a second together.
    None if the first one got no answer.
    """
    rng = np.random.default_rng(SEED)
    if not model.compute(_rattled(atoms, rng), model.properties).ok[0]:
        return None
    times: list[float] = []
    while len(times) < 3 and sum(times) <= 1.0:
        frames = _rattled(atoms, rng)
        begin = time.perf_counter()
        model.compute(frames, model.properties)
        times.append(time.perf_counter() - begin)
    return min(times)


def _rattled(atoms: Atoms, rng: np.random.Generator) -> Frames:
    copy = atoms.copy()
    moved: Float = rng.normal(0.0, 0.01, atoms.positions.shape)
    copy.positions += moved
    return Frames.from_atoms([copy])

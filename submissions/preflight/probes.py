"""The preflight's public structures, and the physics that is measured on them. Physics never refuses an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from ase import Atoms

from tasks.model.calculator import BatchCalculator
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, Predictions, Properties

STEPS_ANGSTROM = (3e-2, 1e-2, 3e-3, 1e-3)
SEED = 20_251


def public_structures() -> dict[str, Atoms]:
    """Small rattled structures, by name, of every kind in a suite. A model need not support all of them."""
    from ase.build import bulk, fcc111, molecule  # it takes long to import

    rng = np.random.default_rng(SEED)
    structures = {
        "copper crystal": bulk("Cu", cubic=True),
        "silicon crystal": bulk("Si", cubic=True),
        "rock salt": bulk("NaCl", "rocksalt", a=5.64, cubic=True),
        "water": molecule("H2O"),
        "ethanol": molecule("CH3CH2OH"),
        "platinum slab": fcc111("Pt", (2, 2, 3), vacuum=6.0, periodic=True),
    }
    for atoms in structures.values():
        atoms.positions += rng.normal(0.0, 0.05, atoms.positions.shape)
    return structures


@dataclass(frozen=True)
class ForceConsistency:
    """The differences between forces and −∇E along random directions.

    Args:
        errors: (steps,) largest |(E(x + hd) − E(x − hd)) / 2h + F·d| [eV/Å] for each step h of `STEPS_ANGSTROM`.
        noise: (steps,) the share of each error that the measured noise of the energy explains [eV/Å].
        scale: root mean square of F·d [eV/Å].
    """

    errors: tuple[float, ...]
    noise: tuple[float, ...]
    scale: float

    @property
    def conservative(self) -> bool:
        """True if some step agrees within five times its noise, or to a part in a thousand of the forces."""
        return any(
            error <= max(5.0 * noise, 1e-3 * self.scale) for error, noise in zip(self.errors, self.noise, strict=True)
        )

    @property
    def best(self) -> float:
        """The smallest of the errors [eV/Å]."""
        return min(self.errors)


N_TINY = 5


def force_consistency(model: BatchCalculator, atoms: Atoms, n_directions: int) -> ForceConsistency:
    """Compares forces of `atoms` with central differences of the energy, in one batch for each direction."""
    rng = np.random.default_rng(SEED)
    frames = Frames.from_atoms([atoms])
    centre = model.compute(frames, ("energy", "forces"))
    if centre.forces is None or not centre.ok[0]:
        return ForceConsistency((np.inf,), (0.0,), 0.0)
    errors = np.zeros((n_directions, len(STEPS_ANGSTROM)))
    slopes = np.zeros(n_directions)
    noise = 0.0
    tiny = np.linspace(-1e-6, 1e-6, N_TINY)  # so close that changes of the energy are rounding errors
    steps = np.array([s * h for h in STEPS_ANGSTROM for s in (1.0, -1.0)])
    for k in range(n_directions):
        direction = rng.normal(size=atoms.positions.shape)
        direction /= np.linalg.norm(direction)
        energy = _energies_along(model, atoms, direction, np.concatenate([steps, tiny]))
        slopes[k] = float(np.sum(centre.forces * direction))
        pairs = energy[: len(steps)].reshape(-1, 2)
        derivative = (pairs[:, 0] - pairs[:, 1]) / (2.0 * np.array(STEPS_ANGSTROM))
        errors[k] = np.abs(derivative + slopes[k])
        around = energy[len(steps) :] + slopes[k] * tiny
        noise = max(noise, float(np.ptp(around)), float(np.spacing(np.abs(energy).max())))
    worst = np.where(np.isnan(errors), np.inf, errors).max(axis=0)
    return ForceConsistency(
        errors=tuple(float(e) for e in worst),
        noise=tuple(noise / h for h in STEPS_ANGSTROM),
        scale=float(np.sqrt(np.mean(slopes**2))),
    )


def _energies_along(model: BatchCalculator, atoms: Atoms, direction: Float, steps: Float) -> Float:
    moved = []
    for step in steps:
        copy = atoms.copy()
        copy.positions += step * direction
        moved.append(copy)
    return model.compute(Frames.from_atoms(moved), ("energy",)).energy


@dataclass(frozen=True)
class AnswerDifference:
    """Largest difference of the energy per atom [eV/atom] and of a force component [eV/Å] between two answers."""

    energy: float
    forces: float

    @property
    def is_small(self) -> bool:
        """True if a model in single precision may show it."""
        return self.energy < 1e-4 and self.forces < 1e-2

    def words(self) -> str:
        return f"ΔE {self.energy:.1e} eV/atom, ΔF {self.forces:.1e} eV/Å"


def invariances(model: BatchCalculator, atoms: Atoms) -> dict[str, AnswerDifference]:
    """The changes of the answer under a rotation, a translation, a permutation, and a repeated question, by name."""
    from scipy.spatial.transform import Rotation  # it takes long to import

    rng = np.random.default_rng(SEED)
    rotation = Rotation.random(rng=rng).as_matrix()
    rotated = atoms.copy()
    rotated.set_cell(atoms.cell.array @ rotation.T)
    rotated.positions = atoms.positions @ rotation.T
    translated = atoms.copy()
    translated.positions += rng.normal(size=3)
    order = rng.permutation(len(atoms))
    wanted: Properties = ("energy", "forces")
    variants = [atoms, rotated, translated, atoms[order], atoms.copy()]
    answers = [model.compute(Frames.from_atoms([a]), wanted) for a in variants]
    forces = [_forces(answer, len(atoms)) for answer in answers]
    back = [forces[0], forces[1] @ rotation, forces[2], forces[3][np.argsort(order)], forces[4]]
    names = ("rotation", "translation", "permutation", "asked again")
    return {
        name: AnswerDifference(
            energy=_nan_as_inf(abs(answers[i].energy[0] - answers[0].energy[0]) / len(atoms)),
            forces=_nan_as_inf(np.abs(back[i] - back[0]).max()),
        )
        for i, name in enumerate(names, start=1)
    }


def _forces(answer: Predictions, n_atoms: int) -> Float:
    return answer.forces if answer.forces is not None else np.full((n_atoms, 3), np.nan)


def _nan_as_inf(value: float) -> float:
    """The value; infinity for NaN, which must never count as a small difference."""
    return np.inf if np.isnan(value) else float(value)


def n_physics_calls(n_directions: int) -> int:
    """The number of structures that `force_consistency` and `invariances` ask."""
    return 1 + n_directions * (2 * len(STEPS_ANGSTROM) + N_TINY) + 5


N_BATCH = 3
_APART_ANGSTROM = 30.0


def batch_structures(structures: Sequence[Atoms]) -> list[Atoms]:
    """Three structures of different sizes, the first ones of `structures` and if necessary multiples of the first.

    Their sizes neither rise nor fall, so answers in the reverse order, or in the order of size, are at wrong places.
    """
    by_size: dict[int, Atoms] = {}
    multiples = (_multiple(structures[0], times) for times in (2, 3))
    for atoms in chain(structures, multiples):
        if len(by_size) < N_BATCH:
            by_size.setdefault(len(atoms), atoms)
    smallest, *larger = (by_size[size] for size in sorted(by_size))
    return [*larger, smallest]


def _multiple(atoms: Atoms, times: int) -> Atoms:
    """A supercell of so many cells; without a cell, so many copies far from each other."""
    if atoms.pbc.any():
        supercell: Atoms = atoms.repeat((times, 1, 1))
        return supercell
    copies: Atoms = atoms.copy()
    for n in range(1, times):
        moved = atoms.copy()
        moved.positions[:, 0] += n * _APART_ANGSTROM
        copies += moved
    return copies


def batch_difference(model: BatchCalculator, structures: Sequence[Atoms]) -> AnswerDifference:
    """The largest difference between the answers to all `structures` in one batch and to each alone."""
    frames = Frames.from_atoms(list(structures))
    wanted: Properties = ("energy", "forces")
    together = model.compute(frames, wanted)
    alone = [model.compute(frames.between(i, i + 1), wanted) for i in range(len(frames))]
    energies = np.array([answer.energy[0] for answer in alone])
    n_atoms = [int(n) for n in frames.n_atoms]
    forces = np.concatenate([_forces(answer, n) for answer, n in zip(alone, n_atoms, strict=True)])
    return AnswerDifference(
        energy=_nan_as_inf(np.max(np.abs(together.energy - energies) / frames.n_atoms)),
        forces=_nan_as_inf(np.max(np.abs(_forces(together, sum(n_atoms)) - forces))),
    )


def charge_and_spin(model: BatchCalculator) -> dict[str, str]:
    """For charge and spin a sentence that says whether the energy of a fixed geometry depends on them."""
    from ase.build import molecule

    oxygen = molecule("O2")
    states = {"neutral triplet": (0, 3), "neutral singlet": (0, 1), "cation doublet": (1, 2), "anion doublet": (-1, 2)}
    variants = []
    for charge, spin in states.values():
        atoms = oxygen.copy()
        atoms.info.update(charge=charge, spin=spin)
        variants.append(atoms)
    answer = model.compute(Frames.from_atoms(variants), ("energy",))
    if not answer.ok[:2].all():
        return {"charge": "not measured: O2 failed", "spin": "not measured: O2 failed"}
    energy = np.where(answer.ok, answer.energy, np.nan)
    return {
        "charge": _aware(np.abs(energy[2:] - energy[0]), "charge"),
        "spin": _aware(np.abs(energy[1:2] - energy[0]), "multiplicity"),
    }


def _aware(differences: Float, what: str) -> str:
    if np.isnan(differences).all():
        return f"a stated {what} is an error"
    largest = float(np.nanmax(differences))
    return f"sees {what} (ΔE {largest:.3g} eV)" if largest > 1e-6 else f"ignores {what}"


def dominant_cause(answer: Predictions) -> Cause:
    """The most frequent cause among failed frames."""
    failed = answer.failure[answer.failure != 0]
    return Cause(int(np.bincount(failed).argmax())) if len(failed) else Cause.NONE

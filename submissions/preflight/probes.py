"""The preflight's public structures, and laws that are examined on them. Physics never refuses an image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from ase import Atoms

from tasks.model.calculator import BatchCalculator, offered
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, Predictions

SEED = 20_251
ENERGY_TOLERANCE, FORCE_TOLERANCE = 1e-4, 1e-2  # eV/atom and eV/Å that single precision may change
NOISE_MARGIN = 5.0
N_REPEATS = 8
REPETITION = "repetition"
CRYSTALS = ("copper crystal", "silicon crystal", "rock salt")
MOLECULES = ("ethanol", "water")


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
class AnswerDifference:
    """Largest difference of the energy per atom [eV/atom] and of a force component [eV/Å] between two answers.

    Args:
        forces: None if the model offers none.
    """

    energy: float
    forces: float | None

    @property
    def is_small(self) -> bool:
        """True if a model in single precision may show it."""
        return self.energy < ENERGY_TOLERANCE and (self.forces is None or self.forces < FORCE_TOLERANCE)

    def is_explained_by(self, noise: AnswerDifference) -> bool:
        """True if it is small, or no larger than noise makes it."""
        energy = max(NOISE_MARGIN * noise.energy, ENERGY_TOLERANCE)
        forces = max(NOISE_MARGIN * (noise.forces or 0.0), FORCE_TOLERANCE)
        return self.energy < energy and (self.forces is None or self.forces < forces)

    def joined(self, other: AnswerDifference) -> AnswerDifference:
        """The larger of both, for energy and forces."""
        forces = None if self.forces is None or other.forces is None else max(self.forces, other.forces)
        return AnswerDifference(max(self.energy, other.energy), forces)

    def words(self) -> str:
        """`ΔE 2e-16 eV/atom, ΔF 1e-15 eV/Å`, or `no difference`."""
        if not self.energy and not self.forces:
            return "no difference"
        forces = "" if self.forces is None else f", ΔF {self.forces:.1g} eV/Å"
        return f"ΔE {self.energy:.1g} eV/atom{forces}"


def invariances(model: BatchCalculator, atoms: Atoms) -> dict[str, AnswerDifference]:
    """The changes of the answer under a rotation, a translation, a permutation, and repeated questions, by name."""
    from scipy.spatial.transform import Rotation  # it takes long to import

    rng = np.random.default_rng(SEED)
    rotation = Rotation.random(rng=rng).as_matrix()
    rotated = atoms.copy()
    rotated.set_cell(atoms.cell.array @ rotation.T)
    rotated.positions = atoms.positions @ rotation.T
    translated = atoms.copy()
    translated.positions += rng.normal(size=3)
    order = rng.permutation(len(atoms))
    variants = [atoms, rotated, translated, atoms[order], *(atoms.copy() for _ in range(N_REPEATS))]
    wanted = offered(model, Frames.from_atoms([atoms]), ("energy", "forces"))
    answers = [model.compute(Frames.from_atoms([variant]), wanted) for variant in variants]
    forces = [forces_of(answer, len(atoms)) for answer in answers]
    back = [forces[0], forces[1] @ rotation, forces[2], forces[3][np.argsort(order)], *forces[4:]]
    names = ("rotation", "translation", "permutation", *[REPETITION] * N_REPEATS)
    changes: dict[str, AnswerDifference] = {}
    for i, name in enumerate(names, start=1):
        change = AnswerDifference(
            energy=nan_as_inf(abs(answers[i].energy[0] - answers[0].energy[0]) / len(atoms)),
            forces=nan_as_inf(np.abs(back[i] - back[0]).max()) if "forces" in wanted else None,
        )
        changes[name] = changes[name].joined(change) if name in changes else change
    return changes


def forces_of(answer: Predictions, n_atoms: int) -> Float:
    """The forces (n_atoms, 3) [eV/Å] of an answer; NaN if it has none."""
    return answer.forces if answer.forces is not None else np.full((n_atoms, 3), np.nan)


def nan_as_inf(value: float) -> float:
    """The value; infinity for NaN, which must never count as a small difference."""
    return np.inf if np.isnan(value) else float(value)


N_INVARIANCE_CALLS = 4 + N_REPEATS


def largest(changes: Mapping[str, AnswerDifference]) -> AnswerDifference:
    """The largest of the changes, for energy and forces."""
    return reduce(AnswerDifference.joined, changes.values())


N_STATES = 4
N_ASKED = 3  # times each state


def charge_and_spin(model: BatchCalculator) -> dict[str, str]:
    """For charge and spin a sentence that says whether the energy of a fixed geometry depends on them."""
    from ase.build import molecule

    oxygen = molecule("O2")
    states = {"neutral triplet": (0, 3), "neutral singlet": (0, 1), "cation doublet": (1, 2), "anion doublet": (-1, 2)}
    variants = []
    for charge, spin in [*states.values()] * N_ASKED:
        atoms = oxygen.copy()
        atoms.info.update(charge=charge, spin=spin)
        variants.append(atoms)
    answer = model.compute(Frames.from_atoms(variants), ("energy",))
    energies = np.where(answer.ok, answer.energy, np.nan).reshape(N_ASKED, N_STATES)
    if not np.isfinite(energies[:, :2]).all():
        return {"charge": "not measured: O2 failed", "spin": "not measured: O2 failed"}
    energy, noise = energies.mean(axis=0), float(np.ptp(energies[:, :2], axis=0).max())
    return {
        "charge": _aware(np.abs(energy[2:] - energy[0]), noise, "charge"),
        "spin": _aware(np.abs(energy[1:2] - energy[0]), noise, "multiplicity"),
    }


def _aware(differences: Float, noise: float, what: str) -> str:
    """What the energy differences between states say, if the noise of the energy [eV] lets them."""
    if np.isnan(differences).all():
        return f"a stated {what} is an error"
    change = float(np.nanmax(differences))
    if change > max(1e-6, NOISE_MARGIN * noise):
        return f"sees {what} (ΔE {change:.3g} eV)"
    if noise > 1e-6:
        return f"not measured: ΔE {change:.1g} eV is within the noise, {noise:.1g} eV"
    return f"ignores {what}"


def dominant_cause(answer: Predictions) -> Cause:
    """The most frequent cause among failed frames."""
    failed = answer.failure[answer.failure != 0]
    return Cause(int(np.bincount(failed).argmax())) if len(failed) else Cause.NONE

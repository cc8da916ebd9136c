"""Laws that are examined on single structures. Physics never refuses an image."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from ase import Atoms

from submissions.preflight.public_structures import stated_molecule
from tasks.model.calculator import BatchCalculator, offered
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, Predictions

SEED = 20_251
# eV/atom, eV/Å and eV/Å³ that single precision may change.
ENERGY_TOLERANCE, FORCE_TOLERANCE, STRESS_TOLERANCE = 1e-4, 1e-2, 1e-4
NOISE_MARGIN = 5.0
N_REPEATS = 8
REPETITION = "repetition"


@dataclass(frozen=True)
class AnswerDifference:
    """Largest difference of the energy per atom [eV/atom] and of a force component [eV/Å] between two answers.

    Args:
        forces: None if the model offers none.
        stress: of a component [eV/Å³]; None if it was not compared.
    """

    energy: float
    forces: float | None
    stress: float | None = None

    @property
    def is_small(self) -> bool:
        """True if a model in single precision may show it."""
        return not self.beyond(AnswerDifference(0.0, 0.0, 0.0))

    def is_explained_by(self, noise: AnswerDifference) -> bool:
        """True if it is small, or no larger than noise makes it."""
        return not self.beyond(noise)

    def beyond(self, noise: AnswerDifference) -> tuple[str, ...]:
        """Those of energy, forces and stress that differ by more than single precision and `noise` explain."""
        compared = (
            ("energy", self.energy, noise.energy, ENERGY_TOLERANCE),
            ("forces", self.forces, noise.forces, FORCE_TOLERANCE),
            ("stress", self.stress, noise.stress, STRESS_TOLERANCE),
        )
        return tuple(
            name
            for name, difference, by_noise, tolerance in compared
            if difference is not None and not difference < max(NOISE_MARGIN * (by_noise or 0.0), tolerance)
        )

    def joined(self, other: AnswerDifference) -> AnswerDifference:
        """The larger of both, for energy, forces and stress."""
        forces, stress = (
            None if a is None or b is None else max(a, b)
            for a, b in ((self.forces, other.forces), (self.stress, other.stress))
        )
        return AnswerDifference(max(self.energy, other.energy), forces, stress)

    def words(self, quantities: Collection[str] = ("energy", "forces", "stress")) -> str:
        """`ΔE 2e-16 eV/atom, ΔF 1e-15 eV/Å`, or `no difference`.

        Args:
            quantities: that are said, of those that were compared.
        """
        compared = {
            "energy": ("ΔE", self.energy, "eV/atom"),
            "forces": ("ΔF", self.forces, "eV/Å"),
            "stress": ("Δσ", self.stress, "eV/Å³"),
        }
        if not any(size for _, size, _ in compared.values()):
            return "no difference"
        said = (parts for name, parts in compared.items() if name in quantities and parts[1] is not None)
        return ", ".join(f"{symbol} {size:.1g} {unit}" for symbol, size, unit in said)


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
    states = {"neutral triplet": (0, 3), "neutral singlet": (0, 1), "cation doublet": (1, 2), "anion doublet": (-1, 2)}
    variants = [stated_molecule("O2", charge, spin) for charge, spin in [*states.values()] * N_ASKED]
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

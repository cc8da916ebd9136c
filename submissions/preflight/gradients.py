"""Forces and stress against differences of the energy: F = −∇E, and σ = (1/V) dE/dε.

Two answers agree only if the energy is steady enough to tell. Its noise is measured, and a difference that noise alone
explains is neither agreement nor disagreement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ase import Atoms

from submissions.preflight.factors import force_mistakes, looks_like, stress_mistakes
from tasks.model.calculator import BatchCalculator
from tasks.physicality.variants import strained
from tasks.structures.frames import Float, Frames
from tasks.structures.known_mistakes import STRESS_ORDERS

SEED = 20_251
STEPS_ANGSTROM = (3e-2, 1e-2, 3e-3, 1e-3)
STRAINS = (1e-2, 3e-3, 1e-3)
TINY_ANGSTROM = 1e-6  # so close that changes of the energy are rounding errors, or noise
N_TINY = 9
NOISE_MARGIN = 5.0
RESOLVED = 0.03  # share of the signal that noise may hide
AGREEMENT = 1e-3  # of the forces or the stress
# Strain of the crystal whose stress is examined: the six components of its stress differ.
STRAIN = np.array([[0.012, 0.006, -0.004], [0.006, -0.008, 0.010], [-0.004, 0.010, 0.005]])
FORCES_ARE = "−∇E in eV/Å, of the energy in eV"
STRESS_IS = "(1/V) dE/dε in eV/Å³, of the energy in eV"


@dataclass(frozen=True, eq=False)
class GradientComparison:
    """Components of a gradient, as answered and as differences of the energy.

    Args:
        answered: (m,).
        differences: (steps, m), of smaller and smaller steps.
        noise: (steps,) of each difference, from the noise of the energy.
        unit: of all of them.
        definition: of what is asked for.
        mistake: words that follow "looks like"; empty: none is known.
    """

    answered: Float
    differences: Float
    noise: Float
    unit: str
    definition: str = ""
    mistake: str = ""

    @property
    def errors(self) -> Float:
        """(steps,) largest difference of a component; infinity if one is not finite."""
        errors = np.abs(self.differences - self.answered)
        worst: Float = np.where(np.isnan(errors), np.inf, errors).max(axis=1)
        return worst

    @property
    def scale(self) -> float:
        """Root mean square of the answer."""
        return float(np.sqrt(np.mean(self.answered**2)))

    @property
    def measured(self) -> bool:
        """Whether the model answered all that was asked."""
        return bool(np.isfinite(self.errors).any())

    @property
    def agrees(self) -> bool | None:
        """Whether the answer is the gradient of the energy; None if noise hides it, or an answer is missing."""
        if not self.measured:
            return None
        tolerance = NOISE_MARGIN * self.noise
        agrees = self.errors <= np.maximum(tolerance, AGREEMENT * self.scale)
        if (agrees & (tolerance <= RESOLVED * self.scale)).any():
            return True
        return None if agrees.any() else False

    def words(self) -> str:
        """The finding, for a reader."""
        if not self.measured:
            return "not measured: the model fails on changed copies"
        if not (self.answered.any() or self.differences.any()):
            return "not measured: all are zero, and the energy is constant"
        agrees, best = self.agrees, int(np.argmin(self.errors))
        size = f"(root mean square {self.scale:.2g})"
        if agrees is None:
            hidden = NOISE_MARGIN * float(self.noise.min())
            return f"not measured: noise of the energy hides up to {hidden:.1g} {self.unit} {size}"
        if not agrees and self.mistake:
            return f"looks like {self.mistake}; expected is {self.definition}"
        verb = "agrees within" if agrees else "differs by"
        return f"{verb} {self.errors[best]:.1g} {self.unit} {size}"


def energy_noise(model: BatchCalculator, atoms: Atoms) -> float:
    """Spread of the energy [eV] of `N_TINY` structures that hardly differ, after a straight line is subtracted.

    At least the spacing of floating-point numbers; NaN if the model fails.
    """
    direction = _unit_directions(atoms, 1)[0]
    steps = np.linspace(-TINY_ANGSTROM, TINY_ANGSTROM, N_TINY)
    energy = _energies(model, _displaced(atoms, direction, steps))
    if not np.isfinite(energy).all():
        return np.nan
    centred = energy - energy.mean()
    line = steps * float(steps @ centred) / float(steps @ steps)
    return max(float(np.ptp(centred - line)), float(np.spacing(np.abs(energy).max())))


def compare_forces(model: BatchCalculator, atoms: Atoms, n_directions: int, noise: float) -> GradientComparison:
    """Forces along random directions [eV/Å] against central differences of the energy.

    Args:
        noise: of the energy [eV].
    """
    answer = model.compute(Frames.from_atoms([atoms]), ("energy", "forces"))
    directions = _unit_directions(atoms, n_directions)
    steps = np.array([sign * step for step in STEPS_ANGSTROM for sign in (1.0, -1.0)])
    slopes = []
    for direction in directions:
        pairs = _energies(model, _displaced(atoms, direction, steps)).reshape(-1, 2)
        slopes.append((pairs[:, 1] - pairs[:, 0]) / (2.0 * np.array(STEPS_ANGSTROM)))
    forces = np.full(atoms.positions.shape, np.nan) if answer.forces is None else answer.forces
    answered = np.array([float(np.sum(forces * direction)) for direction in directions])
    differences = np.array(slopes).T
    mistake = looks_like(answered, differences[1], force_mistakes(len(atoms)))
    return GradientComparison(answered, differences, noise / np.array(STEPS_ANGSTROM), "eV/Å", FORCES_ARE, mistake)


def compare_stress(
    model: BatchCalculator, atoms: Atoms, noise: float, strains: Sequence[float] = STRAINS
) -> GradientComparison:
    """The six components of the stress [eV/Å³] of a strained copy of a crystal against differences of its energy.

    Args:
        noise: of the energy [eV].
        strains: of the differences, each twice: with both signs.
    """
    frames = Frames.from_atoms([strained_copy(atoms)])
    volume = float(frames.volumes[0])
    answer = model.compute(frames, ("energy", "stress"))
    energy = model.compute(strained(frames, strains), ("energy",)).energy.reshape(6, len(strains), 2)
    # A strain with ε_yz = ε_zy counts both.
    weight = volume * np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    differences = ((energy[..., 0] - energy[..., 1]) / (2.0 * np.array(strains)) / weight[:, None]).T
    answered = np.full(6, np.nan) if answer.stress is None else answer.stress[0]
    mistakes = stress_mistakes(len(atoms), volume)
    mistake = looks_like(answered, differences[len(strains) // 2], mistakes, STRESS_ORDERS)
    return GradientComparison(answered, differences, noise / (np.array(strains) * volume), "eV/Å³", STRESS_IS, mistake)


def strained_copy(atoms: Atoms) -> Atoms:
    """`atoms`, cell and positions strained by `STRAIN`."""
    copy: Atoms = atoms.copy()
    copy.set_cell(atoms.cell.array @ (np.eye(3) + STRAIN), scale_atoms=True)
    return copy


def n_force_calls(n_directions: int) -> int:
    """The structures that `energy_noise` and `compare_forces` ask."""
    return 1 + N_TINY + n_directions * 2 * len(STEPS_ANGSTROM)


def n_stress_calls(n_strains: int) -> int:
    """The structures that `compare_stress` asks."""
    return 1 + 12 * n_strains


def _unit_directions(atoms: Atoms, count: int) -> list[Float]:
    """Always the same ones: the first of more are the directions of fewer."""
    rng = np.random.default_rng(SEED)
    directions = [rng.normal(size=atoms.positions.shape) for _ in range(count)]
    return [direction / np.linalg.norm(direction) for direction in directions]


def _displaced(atoms: Atoms, direction: Float, steps: Float) -> Frames:
    frames = Frames.from_atoms([atoms])
    return Frames.concatenate([frames.moved(atoms.positions + step * direction) for step in steps])


def _energies(model: BatchCalculator, frames: Frames) -> Float:
    return model.compute(frames, ("energy",)).energy

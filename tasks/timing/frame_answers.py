"""The answer to one frame, and whether two answers to the same question agree.

**Tolerances** for the difference between two answers: 10 meV/atom of energy; of forces and of the virial per atom a
root mean square over the components of 1 meV/Å and 10 meV/atom, plus a fifth of the size of the answer. Single
precision stays a thousand times below (1e-7 of an energy of 1000 eV/atom is 0.1 meV/atom). Models that are not
equivariant by construction are off by a few meV/atom and some per cent of the forces after a rotation (M. F. Langer,
S. N. Pozdnyakov, M. Ceriotti, arXiv:2406.17747). An answer that was not computed from the structure has no reason to be
as close.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.kind import Observation
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause

ENERGY_TOLERANCE = 0.010  # eV/atom
FORCE_TOLERANCE = 0.001  # eV/Å
VIRIAL_TOLERANCE = 0.010  # eV/atom
RELATIVE_TOLERANCE = 0.2
# No answer: neither a contradiction nor a confirmation.
UNDECIDED = (Cause.OVER_TIME, Cause.OUT_OF_MEMORY)


class FrameAnswer(NamedTuple):
    """One frame's energy [eV], forces (n, 3) [eV/Å] and stress (6,) [eV/Å³], NaN where there is none."""

    energy: float
    forces: Float
    stress: Float

    @classmethod
    def missing(cls, n_atoms: int) -> FrameAnswer:
        """No answer to a frame of `n_atoms`."""
        return cls(np.nan, np.full((n_atoms, 3), np.nan), np.full(6, np.nan))


def disagree(first: FrameAnswer, second: FrameAnswer, volume_per_atom: float) -> bool:
    """Whether two answers to the same question differ by more than the tolerances. NaN disagrees, except in stress.

    Args:
        volume_per_atom: [Å³].
    """
    energy = abs(first.energy - second.energy) <= ENERGY_TOLERANCE * len(first.forces)
    forces = _close(first.forces, second.forces, FORCE_TOLERANCE)
    # A frame that is not periodic has no stress in either answer.
    no_stress = bool(np.isnan(first.stress).all() and np.isnan(second.stress).all())
    stress = no_stress or _close(first.stress * volume_per_atom, second.stress * volume_per_atom, VIRIAL_TOLERANCE)
    return not (energy and forces and stress)


def root_mean_square(values: Float) -> float:
    """Over all components."""
    return float(np.sqrt(np.mean(values**2)))


def _close(first: Float, second: Float, tolerance: float) -> bool:
    return root_mean_square(first - second) <= tolerance + RELATIVE_TOLERANCE * root_mean_square(first)


def pack_answers(prefix: str, answers: Sequence[FrameAnswer]) -> dict[str, NDArray[Any]]:
    """Arrays `<prefix>_energy` (r,), `<prefix>_forces` (M, 3) and `<prefix>_stress` (r, 6) of r frames of M atoms."""
    return {
        f"{prefix}_energy": np.array([a.energy for a in answers], np.float64),
        f"{prefix}_forces": np.concatenate([np.zeros((0, 3)), *[a.forces for a in answers]]),
        f"{prefix}_stress": np.array([a.stress for a in answers], np.float64).reshape(-1, 6),
    }


def read_answers(observation: Observation, prefix: str, n_atoms: NDArray[np.int64]) -> list[FrameAnswer]:
    """The answers that `pack_answers` packed, to frames of `n_atoms` (r,).

    Raises:
        ValueError: they are missing, or of other frames.
    """
    energy = observation.array(f"{prefix}_energy", (len(n_atoms),))
    forces = observation.array(f"{prefix}_forces", (int(n_atoms.sum()), 3))
    stress = observation.array(f"{prefix}_stress", (len(n_atoms), 6))
    by_frame = by_frames(forces, n_atoms)
    return [FrameAnswer(float(e), f, s) for e, f, s in zip(energy, by_frame, stress, strict=True)]


def by_frames(per_atom: Float, n_atoms: NDArray[np.int64]) -> list[Float]:
    """The rows of `per_atom` (M, 3) of each frame of `n_atoms` (r,)."""
    return np.split(per_atom, np.cumsum(n_atoms)[:-1]) if len(n_atoms) else []

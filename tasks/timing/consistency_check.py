"""The consistency check: a fresh start of the model answers some timed frames again, and must agree with itself.

A model could answer anything while it is timed. So the fresh start is asked about each chosen frame after a random
rotation. Another frame of the same shape goes before it, as in the timing. That other frame is the second test: it is
made of equal parts, all with the same displacements, and the model is asked about one part at the end. This is the same
crystal in another cell, so energy, forces and stress must be the same per part. A model that answers all frames of the
timed sizes with the same nonsense agrees with itself, but not with its answer to the part.

**Tolerances** for the difference between two answers: 10 meV/atom of energy; of forces and of the virial per atom a
root mean square over the components of 1 meV/Å and 10 meV/atom, plus a fifth of the size of the answer. Single
precision stays a thousand times below (1e-7 of an energy of 1000 eV/atom is 0.1 meV/atom). Models that are not
equivariant by construction are off by a few meV/atom and some per cent of the forces after a rotation (M. F. Langer,
S. N. Pozdnyakov, M. Ceriotti, arXiv:2406.17747). An answer that was not computed from the structure has no reason to be
as close.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from ase.stress import full_3x3_to_voigt_6_stress, voigt_6_to_full_3x3_stress
from numpy.typing import NDArray

from tasks.kind import Observation, Watch
from tasks.model.calculator import BatchCalculator, offered
from tasks.simulation.supercells import Counts, spread_over
from tasks.structures.frames import Float
from tasks.structures.predictions import ALL_PROPERTIES, Cause
from tasks.timing.single_frames import causes_of
from tasks.timing.timing_plan import RotatedFrame, TimingPlan

ENERGY_TOLERANCE = 0.010  # eV/atom
FORCE_TOLERANCE = 0.001  # eV/Å
VIRIAL_TOLERANCE = 0.010  # eV/atom
RELATIVE_TOLERANCE = 0.2
# If more than this share of the checked frames disagree, or could not be decided, no time counts.
VOID_SHARE = 0.1
# Neither a contradiction nor a confirmation.
UNDECIDED = (Cause.OVER_TIME, Cause.OUT_OF_MEMORY)


class FrameAnswer(NamedTuple):
    """One frame's energy [eV], forces (n, 3) [eV/Å] and stress (6,) [eV/Å³], NaN where there is none."""

    energy: float
    forces: Float
    stress: Float


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


def _close(first: Float, second: Float, tolerance: float) -> bool:
    allowed = tolerance + RELATIVE_TOLERANCE * np.sqrt(np.mean(first**2))
    return bool(np.sqrt(np.mean((first - second) ** 2)) <= allowed)


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
    by_frame = np.split(forces, np.cumsum(n_atoms)[:-1]) if len(n_atoms) else []
    return [FrameAnswer(float(e), f, s) for e, f, s in zip(energy, by_frame, stress, strict=True)]


def check_consistency(
    plan: TimingPlan, kept: NDArray[np.int64], sizes: Sequence[Counts], model: BatchCalculator, watch: Watch
) -> dict[str, NDArray[Any]]:
    """The answers of a fresh start of the model about the frames `kept` (r,), which were timed at `sizes`.

    Returns:
        Arrays `again_…` of the frames as they were timed (rotated back), `whole_…` and `part_…` of the frame made of
        equal parts (`part_…` multiplied to the whole), each as from `pack_answers`; again_failure (r,) the first cause,
        0 where all three were answered.
    """
    failure = np.zeros(len(kept), np.int8)
    answers: dict[str, list[FrameAnswer]] = {"again": [], "whole": [], "part": []}
    for row, (index, counts) in enumerate(zip(kept, sizes, strict=True)):
        question = plan.consistency_question(int(index), counts)
        for name, frames in (("whole", question.whole), ("again", question.frame)):
            answer, cause = answer_rotated(RotatedFrame(frames, question.rotation), model, watch)
            answers[name].append(answer)
            failure[row] = failure[row] or cause
        watch.progress(row + 1, 2 * len(kept), "frames checked")
    for row, (index, counts) in enumerate(zip(kept, sizes, strict=True)):
        question = plan.consistency_question(int(index), counts)
        answer, cause = answers["whole"][row], Cause.NONE
        if question.part_counts != counts:
            answer, cause = answer_rotated(RotatedFrame(question.part, question.rotation), model, watch)
        folds = int(np.prod(counts)) // int(np.prod(question.part_counts))
        forces = spread_over(answer.forces, question.part_counts, counts)
        answers["part"].append(FrameAnswer(folds * answer.energy, forces, answer.stress))
        failure[row] = failure[row] or cause
        watch.progress(len(kept) + row + 1, 2 * len(kept), "frames checked")
    packed: dict[str, NDArray[Any]] = {"again_failure": failure}
    for name, by_row in answers.items():
        packed |= pack_answers(name, by_row)
    return packed


def answer_rotated(question: RotatedFrame, model: BatchCalculator, watch: Watch) -> tuple[FrameAnswer, Cause]:
    """The answer to one frame, rotated back; NaN and the cause if there is none."""
    frames, rotation = question
    nothing = FrameAnswer(np.nan, np.full((len(frames.numbers), 3), np.nan), np.full(6, np.nan))
    if watch.clock() > watch.deadline:
        return nothing, Cause.OVER_TIME
    wanted = offered(model, frames, ALL_PROPERTIES)
    answer = model.compute(frames, wanted)
    cause = Cause(int(causes_of(answer, frames, wanted)[0]))
    if cause or answer.forces is None:
        return nothing, cause or Cause.UNSUPPORTED
    stress = np.full(6, np.nan)
    if answer.stress is not None:
        rotated = voigt_6_to_full_3x3_stress(answer.stress[0])
        stress = full_3x3_to_voigt_6_stress(rotation.T @ rotated @ rotation)
    return FrameAnswer(float(answer.energy[0]), answer.forces @ rotation, stress), Cause.NONE


class ConsistencyVerdicts(NamedTuple):
    """(n,) each, of all timed frames: whether a frame was checked, disagreed, or could not be decided."""

    checked: NDArray[np.bool_]
    inconsistent: NDArray[np.bool_]
    undecided: NDArray[np.bool_]

    @property
    def void(self) -> bool:
        """Whether no time counts."""
        return bool((self.inconsistent | self.undecided).sum() > VOID_SHARE * self.checked.sum())


def compare(
    observation: Observation, n_atoms: NDArray[np.int64], volume_per_atom: Mapping[int, float]
) -> ConsistencyVerdicts | None:
    """The result of the consistency check; None without one.

    Args:
        n_atoms: (n,) of all timed frames.
        volume_per_atom: [Å³] by timed frame.

    Raises:
        ValueError: the observation is not of these frames.
    """
    if "again_failure" not in observation.arrays:
        return None
    n, kept = len(n_atoms), observation.arrays["kept"]
    failure = observation.array("again_failure", (len(kept),), np.int8)
    answers = {name: read_answers(observation, name, n_atoms[kept]) for name in ("kept", "again", "whole", "part")}
    checked, inconsistent, undecided = (np.zeros(n, np.bool_) for _ in range(3))
    for row, index in enumerate(kept):
        volume = volume_per_atom[int(index)]
        checked[index] = True
        undecided[index] = failure[row] in UNDECIDED
        same = not disagree(answers["kept"][row], answers["again"][row], volume)
        extensive = not disagree(answers["whole"][row], answers["part"][row], volume)
        inconsistent[index] = not undecided[index] and not (failure[row] == 0 and same and extensive)
    return ConsistencyVerdicts(checked, inconsistent, undecided)

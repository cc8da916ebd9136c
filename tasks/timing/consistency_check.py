"""The consistency check: a fresh start of the model answers some timed frames again, and must agree with itself.

A model could answer anything while it is timed. So a fresh start is asked in four stages, each in a random order
(`tasks.timing.fresh_start`). In all but the second it also gets frames of tasks with labels, and its answers must be
those by which its accuracy is judged (`tasks.timing.judged_frames`).

1. Structures as the data set has them, as other tasks ask about them (`tasks.timing.small_frames`).
2. Blocks, which are crystals of some atoms of a timed frame.
3. Of each chosen frame two frames of its shape. One is the frame itself, and must get the same answer as in the timing.
   The other is made of equal parts, all with the same displacements. Frames of the timed batches are among these.
4. One of the parts by itself, and the small structures again. The crystal of equal parts is the same crystal in another
   cell, so energy, forces and stress must be the same per part. A model that answers all frames of the timed sizes with
   the same nonsense agrees with itself, but not with its answers to parts and to small frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.kind import Observation
from tasks.simulation.supercells import SINGLE, Counts, part_of, spread_over
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tasks.timing.frame_answers import UNDECIDED, FrameAnswer, disagree, pack_answers, read_answers
from tasks.timing.fresh_start import Answered
from tasks.timing.judged_frames import JudgedVerdicts, compare_judged
from tasks.timing.small_frames import contradicted, small_failures
from tasks.timing.timing_plan import ConsistencyQuestion, TimingPlan

# If more than this share of the checked frames disagree, or could not be decided, no time counts.
VOID_SHARE = 0.1


class ConsistencyQuestions:
    """The questions about the timed frames `kept`, which were timed at `sizes`."""

    def __init__(self, plan: TimingPlan, kept: Sequence[int], sizes: Sequence[Counts]) -> None:
        self._sizes = sizes
        self._by_row: list[ConsistencyQuestion] = [
            plan.consistency_question(index, counts, part_of_row(plan, index, counts, row))
            for row, (index, counts) in enumerate(zip(kept, sizes, strict=True))
        ]
        self._with_part = [row for row, question in enumerate(self._by_row) if question.part_counts != self._sizes[row]]

    @property
    def large(self) -> list[Frames]:
        """The frames of the timed shapes: those made of equal parts, then those that were timed."""
        return [question.whole for question in self._by_row] + [question.frame for question in self._by_row]

    @property
    def parts(self) -> list[Frames]:
        """The parts that are smaller than their frames."""
        return [self._by_row[row].part for row in self._with_part]

    def pack(self, large: Sequence[Answered], parts: Sequence[Answered]) -> dict[str, NDArray[Any]]:
        """The arrays that are stored of the answers to `large` and to `parts`.

        Returns:
            Arrays `again_…` of the frames as they were timed, `whole_…` and `part_…` of the frame made of equal parts
            (`part_…` multiplied to the whole), each as from `pack_answers`; again_failure (r,) the first cause, 0 where
            all three were answered.
        """
        r = len(self._by_row)
        whole, again = large[:r], large[r:]
        part = list(whole)
        for row, answered in zip(self._with_part, parts, strict=True):
            part[row] = Answered(self._multiplied(row, answered.answer), answered.cause)
        failure = [next((a.cause for a in row if a.cause), Cause.NONE) for row in zip(whole, again, part, strict=True)]
        packed: dict[str, NDArray[Any]] = {"again_failure": np.array(failure, np.int8)}
        for name, by_row in (("again", again), ("whole", whole), ("part", part)):
            packed |= pack_answers(name, [answered.answer for answered in by_row])
        return packed

    def _multiplied(self, row: int, part: FrameAnswer) -> FrameAnswer:
        counts, part_counts = self._sizes[row], self._by_row[row].part_counts
        folds = int(np.prod(counts)) // int(np.prod(part_counts))
        return FrameAnswer(folds * part.energy, spread_over(part.forces, part_counts, counts), part.stress)


def part_of_row(plan: TimingPlan, index: int, counts: Counts, row: int) -> Counts:
    """The repeats of the part: of every second frame the structure itself, else a half or so of the frame.

    An atom by itself would have no forces in any displacement.
    """
    several = plan.structures.frames.n_atoms[plan.sources[index]] > 1
    return SINGLE if several and row % 2 == 0 else part_of(counts)


class ConsistencyVerdicts(NamedTuple):
    """(n,) each, of all timed frames: whether a frame was checked, disagreed, or could not be decided.

    If the model is not the one whose accuracy is judged, every checked frame disagrees.

    Args:
        judged: the comparison with answers in tasks with labels; None of an observation without one.
    """

    checked: NDArray[np.bool_]
    inconsistent: NDArray[np.bool_]
    undecided: NDArray[np.bool_]
    judged: JudgedVerdicts | None = None

    @property
    def void(self) -> bool:
        """Whether no time counts."""
        failed = (self.inconsistent | self.undecided).sum() > VOID_SHARE * self.checked.sum()
        return bool(failed) or (self.judged is not None and self.judged.void)


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
    failure, small = observation.array("again_failure", (len(kept),), np.int8), small_failures(observation, len(kept))
    volumes = [volume_per_atom[int(index)] for index in kept]
    contradictions = contradicted(observation, n_atoms[kept], volumes)
    answers = {name: read_answers(observation, name, n_atoms[kept]) for name in ("kept", "again", "whole", "part")}
    checked, inconsistent, undecided = (np.zeros(n, np.bool_) for _ in range(3))
    judged = compare_judged(observation)
    other_model = judged is not None and bool(judged.different.any())
    for row, index in enumerate(kept):
        cause, volume = small[row] or failure[row], volumes[row]
        checked[index] = True
        undecided[index] = cause in UNDECIDED
        same = not disagree(answers["kept"][row], answers["again"][row], volume)
        extensive = not disagree(answers["whole"][row], answers["part"][row], volume)
        contradicts = cause != 0 or not (same and extensive) or contradictions[row] or other_model
        inconsistent[index] = not undecided[index] and contradicts
    return ConsistencyVerdicts(checked, inconsistent, undecided, judged)

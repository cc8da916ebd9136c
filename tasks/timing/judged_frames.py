"""Judged frames: they show that the model that is timed is the one whose accuracy is judged.

A model could be another one in every start in which it is timed or checked, and agree with itself. So the fresh start
also answers frames of tasks with labels, on which the same submission has stored answers: at the beginning, among the
structures of the timing and as the data set has them; repeated to the timed sizes, among the timed frames; and among
the last questions. All but the first are rotated, translated and permuted. A frame that is repeated n times has n times
its energy, and its forces at each image. The tolerances are those of `tasks.timing.frame_answers`; if one frame differs
beyond them, or more than half could not be decided, no time counts.

The frames are chosen at random. A structure of the timing that is also in a task with labels is chosen first: then the
model cannot tell the two by the structure.

A frame is repeated to at most the atoms of the largest frame that was timed, and to no more pairs of neighbours than
any timed frame has, as atoms times density: so no frame needs more memory than the timed ones. A structure that states
a charge or a spin multiplicity is not repeated.

**Not detected.** A model that knows the structures of the timing, none of which is in a task with labels, and is
another one for these alone, wherever it is asked about them: no task judges its answers to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.kind import JudgedAnswers, Observation
from tasks.simulation.supercells import SINGLE, Counts, repeats, replicated, spread_over
from tasks.structures.frames import Frames
from tasks.structures.predictions import Predictions
from tasks.timing.frame_answers import UNDECIDED, FrameAnswer, disagree, pack_answers, read_answers
from tasks.timing.fresh_start import Answered
from tasks.timing.timing_plan import SMALLEST_SHARE, TimingPlan

N_JUDGED = 8
VOID_UNDECIDED = 0.5
SAME = 1e-3  # Å, of structures that two data sets have
STAGES = ("early", "repeated", "late")
NOTE = "judged"  # of the observation


class JudgedFrame(NamedTuple):
    """A frame of a task with labels, and the stored answer.

    Args:
        task: the name of the task and the sha256 of its observation.
        number: index in the data set.
        timed: whether it is a structure of the timing as well.
    """

    task: str
    number: int
    timed: bool
    frame: Frames
    stored: FrameAnswer


def choose_judged(plan: TimingPlan, timed: Sequence[int], judged: Iterable[JudgedAnswers]) -> list[JudgedFrame]:
    """At most `N_JUDGED` answered frames, spread over the tasks; none is larger than the timed ones.

    Up to half are structures of the timing that are among `timed`.
    """
    rng = plan.judged_choice()
    chosen: list[list[JudgedFrame]] = []
    for task in judged:
        with_forces = task.answers.ok if task.answers.forces is not None else np.zeros(len(task.frames), np.bool_)
        fitting = np.flatnonzero(with_forces & (task.frames.n_atoms <= plan.parameters.max_atoms))
        same = np.intersect1d(fitting, _same_structures(task.frames, plan.structures.frames.take(timed))).tolist()
        others = rng.permutation(np.setdiff1d(fitting, same))[:N_JUDGED].tolist()
        chosen.append([_judged_frame(task, index, index in same) for index in [*same[:N_JUDGED], *others]])
    in_turn = sorted(
        ((turn, rng.random(), frame) for frames in chosen for turn, frame in enumerate(frames)), key=lambda e: e[:2]
    )
    of_timing = [frame for _, _, frame in in_turn if frame.timed][: N_JUDGED // 2]
    return [*of_timing, *(frame for _, _, frame in in_turn if not frame.timed)][:N_JUDGED]


def _same_structures(frames: Frames, structures: Frames) -> list[int]:
    """Indices of those of `frames` that are, up to rounding, among `structures`."""
    same = []
    for i in range(len(structures)):
        atoms = structures.atom_slice(i)
        near = frames.n_atoms == structures.n_atoms[i]
        near &= (frames.pbc == structures.pbc[i]).all(axis=1)
        near &= np.abs(frames.cell - structures.cell[i]).max(axis=(1, 2)) < SAME
        for index in np.flatnonzero(near).tolist():
            other = frames.atom_slice(index)
            numbers = np.array_equal(frames.numbers[other], structures.numbers[atoms])
            if numbers and np.abs(frames.positions[other] - structures.positions[atoms]).max() < SAME:
                same.append(index)
    return sorted(set(same))


def _judged_frame(task: JudgedAnswers, index: int, timed: bool) -> JudgedFrame:
    return JudgedFrame(
        f"{task.task} {task.observation}",
        index,
        timed,
        task.frames.take([index]),
        _answer(task.answers, task.frames, index),
    )


def _answer(answers: Predictions, frames: Frames, index: int) -> FrameAnswer:
    forces, stress = answers.forces, answers.stress
    if forces is None:
        raise ValueError("judged answers have no forces")
    has_stress = stress is not None and frames.periodic[index]
    return FrameAnswer(
        float(answers.energy[index]),
        forces[frames.atom_slice(index)],
        stress[index] if has_stress and stress is not None else np.full(6, np.nan),
    )


@dataclass(frozen=True, eq=False)
class JudgedFrames:
    """The questions about judged frames.

    Args:
        frames: with their stored answers.
        counts: the repeats of each, at the timed sizes.
    """

    frames: Sequence[JudgedFrame]
    counts: Sequence[Counts]

    @classmethod
    def of(
        cls, plan: TimingPlan, kept: Sequence[int], sizes: Sequence[Counts], judged: Iterable[JudgedAnswers]
    ) -> JudgedFrames:
        """Those that check the timed frames `kept`, which were timed at `sizes`."""
        sources = [int(plan.sources[index]) for index in kept]
        if not sources:
            return cls([], [])
        frames = choose_judged(plan, sorted(set(sources)), judged)
        n_atoms = np.array([plan.atoms(source, size) for source, size in zip(sources, sizes, strict=True)])
        pairs = n_atoms * (plan.structures.frames.n_atoms / plan.structures.frames.volumes)[sources]
        most = int(n_atoms.max()), float(np.fmax.reduce(pairs))
        return cls(frames, [_repeats(judged_frame.frame, *most) for judged_frame in frames])

    @property
    def early(self) -> list[Frames]:
        """The frames as they are; they are asked about at the end as well."""
        return [judged.frame for judged in self.frames]

    @property
    def repeated(self) -> list[Frames]:
        """The frames at the timed sizes."""
        return [replicated(judged.frame, 0, counts) for judged, counts in zip(self.frames, self.counts, strict=True)]

    @property
    def notes(self) -> dict[str, str]:
        """The tasks and observations, in the order of `judged_task`."""
        return {NOTE: "\n".join(self._tasks)} if self.frames else {}

    @property
    def _tasks(self) -> list[str]:
        return list(dict.fromkeys(judged.task for judged in self.frames))

    def pack(
        self, early: Sequence[Answered], repeated: Sequence[Answered], late: Sequence[Answered]
    ) -> dict[str, NDArray[Any]]:
        """The arrays that are stored of the answers to `early`, `repeated`, and `early` again at the end.

        Returns:
            Of j frames: judged_task (j,), index in the note; judged_index (j,) in the data set; judged_atoms (j,);
            judged_counts (j, 3), of `repeated`; judged_volume (j,) [Å³] per atom, NaN if not periodic; judged_failure
            (3, j) the causes, in the order of the arguments; arrays `judged_stored_…`, `judged_early_…`,
            `judged_repeated_…` and `judged_late_…` as from `pack_answers`.
        """
        tasks, by_stage = self._tasks, dict(zip(STAGES, (early, repeated, late), strict=True))
        volumes = [float(judged.frame.volumes[0] / judged.frame.n_atoms[0]) for judged in self.frames]
        failure = [[answered.cause for answered in answers] for answers in by_stage.values()]
        packed: dict[str, NDArray[Any]] = {
            "judged_task": np.array([tasks.index(judged.task) for judged in self.frames], np.int64),
            "judged_index": np.array([judged.number for judged in self.frames], np.int64),
            "judged_atoms": np.array([judged.frame.n_atoms[0] for judged in self.frames], np.int64),
            "judged_counts": np.array(self.counts, np.int64).reshape(-1, 3),
            "judged_volume": np.array(volumes, np.float64),
            "judged_failure": np.array(failure, np.int8).reshape(len(STAGES), -1),
            **pack_answers("judged_stored", [judged.stored for judged in self.frames]),
        }
        for name, answers in by_stage.items():
            packed |= pack_answers(f"judged_{name}", [answered.answer for answered in answers])
        return packed


def _repeats(frame: Frames, most_atoms: int, most_pairs: float) -> Counts:
    """The repeats of a frame to the timed sizes; none if no timed frame is periodic (`most_pairs` is NaN)."""
    n = int(frame.n_atoms[0])
    if frame.charge[0] or frame.multiplicity[0] > 1 or not np.isfinite(most_pairs):
        return SINGLE
    if frame.periodic[0]:
        most_atoms = min(most_atoms, int(most_pairs * frame.volumes[0] / n))
    if most_atoms < n:
        return SINGLE
    return repeats(frame.cell[0], frame.pbc[0].tolist(), n, round(SMALLEST_SHARE * most_atoms), most_atoms)


def judged_observations(observation: Observation) -> tuple[str, ...]:
    """The sha256 of the observations with which that of a timing was compared."""
    return tuple(line.split()[1] for line in observation.notes.get(NOTE, "").splitlines())


def has_energies_of(observation: Observation, digest: str, judged: Observation) -> bool:
    """Whether the stored energies in that of a timing are those in `judged`, which has this sha256."""
    rows = observation.arrays["judged_task"] == judged_observations(observation).index(digest)
    number, energy = observation.arrays["judged_index"][rows], observation.arrays["judged_stored_energy"][rows]
    known = judged.arrays["energy"]
    return bool((number < len(known)).all() and np.array_equal(known[number], energy))


class JudgedVerdicts(NamedTuple):
    """(j,) each: whether the answers to a judged frame differed from the stored ones, or could not be decided.

    Args:
        tasks: name of the task and sha256 of its observation, each once.
    """

    tasks: tuple[str, ...]
    different: NDArray[np.bool_]
    undecided: NDArray[np.bool_]

    @property
    def void(self) -> bool:
        """Whether no time counts."""
        return bool(self.different.any() or self.undecided.sum() > VOID_UNDECIDED * len(self.undecided))

    @property
    def in_words(self) -> str:
        """The result of the comparison, for readers."""
        if not self.tasks:
            return "no frame: no task with labels was answered before"
        tasks = ", ".join(f"{name} ({digest[:12]})" for name, digest in map(str.split, self.tasks))
        different, undecided = int(self.different.sum()), int(self.undecided.sum())
        text = f"{len(self.different)} frames of {tasks}: {different} differed, {undecided} could not be decided"
        return text + ("; so no time counts" if self.void else "")


def compare_judged(observation: Observation) -> JudgedVerdicts | None:
    """The comparison with stored answers; None of an observation from before it was made.

    Raises:
        ValueError: the observation does not fit itself.
    """
    if "judged_task" not in observation.arrays:
        return None
    j = len(observation.arrays["judged_task"])
    failure = observation.causes(len(STAGES), j, name="judged_failure")
    n_atoms, volume = observation.array("judged_atoms", (j,), np.int64), observation.array("judged_volume", (j,))
    counts = observation.array("judged_counts", (j, 3), np.int64)
    stored, different = read_answers(observation, "judged_stored", n_atoms), np.zeros(j, np.bool_)
    for stage, cause in zip(STAGES, failure, strict=True):
        repeats = counts if stage == "repeated" else np.ones_like(counts)
        answers = read_answers(observation, f"judged_{stage}", n_atoms * repeats.prod(axis=1))
        for row in np.flatnonzero(~np.isin(cause, UNDECIDED)):
            expected = _multiplied(stored[row], repeats[row])
            different[row] |= cause[row] != 0 or disagree(expected, answers[row], float(volume[row]))
    undecided = np.isin(failure, UNDECIDED).any(axis=0) & ~different
    tasks = observation.notes.get(NOTE, "")
    return JudgedVerdicts(tuple(tasks.split("\n")) if tasks else (), different, undecided)


def _multiplied(answer: FrameAnswer, counts: NDArray[np.int64]) -> FrameAnswer:
    """The answer to a frame that is repeated `counts` (3,) times."""
    a, b, c = counts.tolist()
    return FrameAnswer(a * b * c * answer.energy, spread_over(answer.forces, SINGLE, (a, b, c)), answer.stress)

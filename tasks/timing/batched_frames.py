"""Timing batches that are filled to a model's atom budget: the throughput of a busy model.

The frames of a batch depend on the plan and the budget alone, not on the model's success on single frames: otherwise a
model could fail on slow structures to look fast. A frame that does not fit takes part at the size that fits.

The consistency check asks a fresh start of the model about a few frames of the timed batches, chosen at random, each by
itself and transformed. Unless all answers agree with those of the batches, within the tolerances of
`tasks.timing.frame_answers`, nothing shows that the batches were computed, and their time does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.kind import Observation, Watch
from tasks.model.calculator import BatchCalculator, offered
from tasks.simulation.supercells import Counts
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import ALL_PROPERTIES, Predictions
from tasks.timing.frame_answers import UNDECIDED, FrameAnswer, disagree, pack_answers, read_answers
from tasks.timing.fresh_start import Answered
from tasks.timing.single_frames import causes_of
from tasks.timing.timing import timed
from tasks.timing.timing_plan import TimingPlan

# Batches are timed only if, at the speed of single frames, they take at most this share of the remaining time.
SHARE_OF_TIME = 0.5

# Structures with their repeats.
Members = list[tuple[int, Counts]]


def filled_batch(plan: TimingPlan, sizes: dict[int, Counts], max_atoms: int) -> Members:
    """Structures with their repeats, in the order of the plan, over and over; at least one.

    At the planned sizes they would have at most `max_atoms` atoms.
    """
    members: Members = []
    order = plan.sources.tolist()
    total = plan.planned_atoms[order[0]]
    while not members or total <= max_atoms:
        source = order[len(members) % len(order)]
        members.append((source, sizes[source]))
        total += plan.planned_atoms[order[len(members) % len(order)]]
    return members


def time_batches(
    plan: TimingPlan, sizes: dict[int, Counts], seconds_per_atom: float, model: BatchCalculator, watch: Watch
) -> dict[str, NDArray[Any]]:
    """Times batches of one composition after one that is not timed.

    Args:
        sizes: repeats of all timed structures, as planned or the largest that fit.
        seconds_per_atom: of single frames, for the decision whether there is time; infinite: no frame was answered,
            and no batch is sent.

    Returns:
        batch_s (n_batches,) seconds, NaN if not sent or if a frame of the batch failed; of the m frames in each
        batch_source (m,), batch_counts (m, 3), batch_atoms (m,) and batch_planned_atoms (m,). batch_kept (k, 2): batch
        and position of the frames that may be checked, with their answers batched_energy, batched_forces and
        batched_stress.
    """
    members = filled_batch(plan, sizes, model.max_atoms_per_batch)
    atoms = np.array([plan.atoms(source, counts) for source, counts in members], np.int64)
    n, chosen = plan.parameters.n_batches, plan.checked(len(members))
    seconds, kept, answers = np.full(n, np.nan), [], []
    left = watch.deadline - watch.clock()
    if n and np.isfinite(seconds_per_atom) and (n + 1) * atoms.sum() * seconds_per_atom <= SHARE_OF_TIME * left:
        for index in range(-1, n):
            if watch.clock() > watch.deadline:
                break
            batch = plan.batch(index + 1, members)
            wanted = offered(model, batch, ALL_PROPERTIES)
            elapsed, answer = timed(model, batch, wanted, watch.clock)
            if index >= 0 and not causes_of(answer, batch, wanted).any():
                seconds[index] = elapsed
                members_kept = [member for b, member in chosen if b == index]
                kept += [(index, member) for member in members_kept]
                answers += [_member_answer(batch, answer, member) for member in members_kept]
            watch.progress(index + 1, n, "batches")
    return {
        "batch_s": seconds,
        "batch_source": np.array([source for source, _ in members], np.int64),
        "batch_counts": np.array([counts for _, counts in members], np.int64),
        "batch_atoms": atoms,
        "batch_planned_atoms": np.array([plan.planned_atoms[source] for source, _ in members], np.int64),
        "batch_kept": np.array(kept, np.int64).reshape(-1, 2),
        **pack_answers("batched", answers),
    }


def _member_answer(batch: Frames, answer: Predictions, member: int) -> FrameAnswer:
    """The answer to one frame of a batch; no stress of a frame that is not periodic."""
    atoms = batch.atom_slice(member)
    forces = np.full((len(batch.numbers), 3), np.nan) if answer.forces is None else answer.forces
    stress = answer.stress[member] if answer.stress is not None and batch.periodic[member] else np.full(6, np.nan)
    return FrameAnswer(float(answer.energy[member]), forces[atoms], stress)


def frames_of_batches(plan: TimingPlan, observation: Observation) -> list[Frames]:
    """The frames in `batch_kept`, each by itself."""
    sources, counts = observation.arrays["batch_source"], observation.arrays["batch_counts"]
    members: Members = [(int(s), (int(c[0]), int(c[1]), int(c[2]))) for s, c in zip(sources, counts, strict=True)]
    kept = observation.arrays["batch_kept"].tolist()
    return [plan.batch(index + 1, members).take([member]) for index, member in kept]


def pack_alone(answered: Sequence[Answered]) -> dict[str, NDArray[Any]]:
    """The arrays that are stored of the answers to `frames_of_batches`.

    Returns:
        Arrays `alone_…` as from `pack_answers`; alone_failure (k,) cause, 0 where answered.
    """
    return {
        "alone_failure": np.array([cause for _, cause in answered], np.int8),
        **pack_answers("alone", [answer for answer, _ in answered]),
    }


class BatchVerdicts(NamedTuple):
    """The numbers of frames of the batches that were checked, that disagreed, and that could not be decided."""

    checked: int
    inconsistent: int
    undecided: int

    @property
    def void(self) -> bool:
        """Whether the time of the batches does not count."""
        return self.inconsistent + self.undecided > 0


def compare_batches(observation: Observation, volume_per_atom: Sequence[float]) -> BatchVerdicts | None:
    """The result of the consistency check of batches; None without one.

    Args:
        volume_per_atom: [Å³] by structure.

    Raises:
        ValueError: the observation does not fit itself.
    """
    if "alone_failure" not in observation.arrays:
        return None
    kept = observation.arrays["batch_kept"]
    failure = observation.array("alone_failure", (len(kept),), np.int8)
    members: NDArray[np.int64] = kept[:, 1]
    n_atoms: NDArray[np.int64] = observation.arrays["batch_atoms"][members]
    volumes = [volume_per_atom[s] for s in observation.arrays["batch_source"][members]]
    batched, alone = (read_answers(observation, name, n_atoms) for name in ("batched", "alone"))
    undecided = np.isin(failure, UNDECIDED)
    inconsistent = [
        not undecided[row] and (failure[row] != 0 or disagree(batched[row], alone[row], volume))
        for row, volume in enumerate(volumes)
    ]
    return BatchVerdicts(len(kept), int(sum(inconsistent)), int(undecided.sum()))


def batched_times(observation: Observation, n_batches: int) -> tuple[Float, Float]:
    """(n_batches,) each [s/atom]: as measured, and penalised for frames that were smaller than planned.

    The penalty is that of the frame that was reduced most, as in `tasks.timing.efficiency`: the time times the square
    of its planned atoms over its real ones, over all planned atoms. NaN where a batch failed.
    """
    seconds = observation.array("batch_s", (n_batches,))
    atoms, planned = observation.arrays["batch_atoms"], observation.arrays["batch_planned_atoms"]
    reduction = float((planned / atoms).max())
    return seconds / atoms.sum(), seconds * reduction**2 / planned.sum()

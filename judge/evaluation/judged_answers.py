"""The stored answers of a submission in tasks with labels, with which the consistency check of a timing compares.

A timing waits until one of these tasks has answers, or all of them ended without: so what is timed is compared with
what is judged, in any order that a maintainer chooses. The answers that were compared are stored in the observation of
the timing, with the sha256 of the observation that they are from. `judge verify` measures with them again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from judge.evaluation.plan import Planned, Step, Unit
from judge.records.attempts import read_history
from judge.records.observation_file import read_observation
from judge.records.removals import was_removed
from submissions.store.interface import Store
from tasks.datasets.dataset import load_structures
from tasks.kind import JudgedAnswers
from tasks.kinds.registry import KINDS
from tasks.observing.frames_observation import AsksEachStructure, read_frames
from tasks.suites.suite import Task


def answers_with_forces(task: Task) -> bool:
    """Whether observations of the task have energies and forces of each structure."""
    kind = KINDS[task.kind]
    return isinstance(kind, AsksEachStructure) and "forces" in kind.asks_for


def is_timed(planned: Planned) -> bool:
    """Whether times are to be measured."""
    return planned.step in (Step.OBSERVE, Step.OPEN) and planned.unit.task.traits.times


def with_labelled(
    plan: Sequence[Planned], units: Sequence[Unit], public_since: Mapping[str, str], today: date
) -> list[Planned]:
    """`plan`, in which each timing knows the units of its submission with which it is compared.

    Args:
        units: of tasks for which `answers_with_forces` is true.
        public_since: of the cards, by data set; empty if it is hidden.
    """
    by_submission: dict[str, list[Unit]] = {}
    for unit in units:
        by_submission.setdefault(unit.submission.id, []).append(unit)

    def compared(unit: Unit) -> Unit:
        askable = [
            name for name in public_since if _askable(public_since[name], public_since[unit.task.dataset], today)
        ]
        return replace(unit, labelled=comparable(unit, by_submission[unit.submission.id], askable))

    return [planned._replace(unit=compared(planned.unit)) if is_timed(planned) else planned for planned in plan]


def _askable(since: str, timing_since: str, today: date) -> bool:
    """Whether a data set that is public since then may be asked about in a timing: words of the model may tell of it.

    It may if the timing is hidden, or if the data set is public by now or when the timing is.
    """
    return not timing_since or "" < since <= max(today.isoformat(), timing_since)[: len(since)]


def comparable(unit: Unit, units: Sequence[Unit], askable: Collection[str]) -> tuple[Unit, ...]:
    """Those of `units` whose stored answers are the model's own, in the domain of the timing `unit`.

    If the model was asked for the label set of the timing in any of them, then these alone.

    Args:
        askable: data sets that the model may be asked about in the timing.
    """
    chosen = [
        other
        for other in units
        if other.task.model_domain == unit.task.model_domain
        and other.correction.d3 is None
        and other.task.dataset in askable
    ]
    return tuple([other for other in chosen if other.label_set == unit.label_set] or chosen)


def waits_for(unit: Unit, store: Store) -> str:
    """The reason why a timing must wait; empty if it need not."""
    ends = [read_history(store, other.prefix).end for other in unit.labelled]
    if all(ends) or any(end is not None and end.observation for end in ends):
        return ""
    missing = ", ".join(other.task.name for other, end in zip(unit.labelled, ends, strict=True) if end is None)
    return f"its answers are compared with those of a task with labels: judge one of these first: {missing}"


def judged_answers(unit: Unit, store: Store, data: Path) -> Iterator[JudgedAnswers]:
    """The stored answers with which the timing `unit` is compared, one task after another.

    Raises:
        ValueError: an observation is not of the task's structures.
        DatasetError: one line that names file and field.
        StoreError: a record is gone or damaged.
    """
    for other in unit.labelled:
        end = read_history(store, other.prefix).end
        if end is not None and end.observation is not None and not was_removed(store, end.observation):
            frames = load_structures(data / other.task.dataset).frames
            answers = read_frames(read_observation(store, end.observation), frames)
            yield JudgedAnswers(other.task.name, end.observation, frames, answers)

"""Trainings: what a submission's trainer learns from, and what the model that it leaves is asked.

The frames of a data set lie in the order of time, molecule by molecule. The last tenth of each molecule's frames is
never learned from; answers to it are judged. Frames are chosen at even distances, so that nothing is left to chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.structures.frames import Frames, Int
from tasks.structures.predictions import Cause

LEARNED_SHARE = 0.9  # of each molecule's frames, from the first on: the rest is asked


@dataclass(frozen=True)
class Training:
    """One training of a task. It follows from the task's parameters alone.

    Args:
        name: unique in its task; lower-case letters, digits and hyphens.
        molecules: groups of the data set that it learns from; empty: all.
        start, stop: the stretch of time that it learns from, as shares of each molecule's frames; `stop` is at most
            `LEARNED_SHARE`.
        n_frames: that it learns from, of each molecule.
        asked: groups whose last tenth in time the model is asked about; empty: all.
        n_asked: frames that it is asked about, of each molecule; 0: all of the last tenth.
        seed: that the trainer gets.
        wall_s: time that the trainer has [s].
    """

    name: str
    molecules: tuple[str, ...]
    start: float
    stop: float
    n_frames: int
    asked: tuple[str, ...]
    n_asked: int
    seed: int
    wall_s: float


class TrainingFrames(NamedTuple):
    """The frames of one training.

    Args:
        learned: (k,) indices into the data set, in the order of time, molecule by molecule.
        asked: (m,) likewise; no frame is in both.
    """

    learned: Int
    asked: Int


class FailedTraining(NamedTuple):
    """A training without a model that answers.

    Args:
        cause: of the failure of each structure that it should have answered.
        sentence: in the judge's words.
    """

    cause: Cause
    sentence: str


@runtime_checkable
class Learning(Protocol):
    """A kind whose models are trained by the judge. `observe` asks a model that cannot be trained, zero-shot."""

    def trainings(self, parameters: Any) -> Sequence[Training]:
        """All trainings of a task, those of one seed together."""
        ...


def molecule_indices(frames: Frames) -> dict[tuple[int, ...], Int]:
    """By the atomic numbers of a molecule, the indices of its frames in their order."""
    groups: dict[bytes, list[int]] = {}
    for index, (start, stop) in enumerate(pairwise(frames.offsets.tolist())):
        groups.setdefault(frames.numbers[start:stop].tobytes(), []).append(index)
    return {
        tuple(np.frombuffer(numbers, frames.numbers.dtype).tolist()): np.array(indices)
        for numbers, indices in groups.items()
    }


def named_molecules(dataset: Dataset) -> dict[str, Int]:
    """By group of the data set's table, the indices of its frames in the order of time.

    Raises:
        ValueError: a group has frames of two molecules, or a molecule is in two groups.
    """
    names: dict[str, Int] = {}
    for indices in molecule_indices(dataset.frames).values():
        groups = {dataset.table.group[i] for i in indices}
        name = min(groups)
        if len(groups) > 1 or name in names:
            raise ValueError(f"table.json: group: {name!r}: a group must be one molecule with its atoms in one order")
        names[name] = indices
    return names


def evenly(indices: Int, n: int) -> Int:
    """`n` of `indices` at even distances, the first one among them.

    Raises:
        ValueError: there are fewer.
    """
    if n > len(indices):
        raise ValueError(f"{n} frames are wanted, and there are {len(indices)}")
    return indices[(np.arange(n) * len(indices)) // n]


def stretch(indices: Int, start: float, stop: float) -> Int:
    """Those of `indices` from the share `start` of them to the share `stop`."""
    n = len(indices)
    return indices[round(start * n) : round(stop * n)]


def asked_frames(indices: Int, n_asked: int) -> Int:
    """The frames of one molecule that models are asked about: `n_asked` of the last tenth, or all of it for 0."""
    last = stretch(indices, LEARNED_SHARE, 1.0)
    return evenly(last, n_asked) if n_asked else last


def training_frames(dataset: Dataset, training: Training, molecules: Mapping[str, Int] | None = None) -> TrainingFrames:
    """The frames that a training learns from, and those that its model is asked about.

    Args:
        molecules: as from `named_molecules`, for a caller with many trainings.

    Raises:
        ValueError: the data set has no such molecule, or too few frames.
    """
    if not 0 <= training.start < training.stop <= LEARNED_SHARE:
        raise ValueError(f"training {training.name}: stop: what is learned must end at {LEARNED_SHARE} of the time")
    molecules = named_molecules(dataset) if molecules is None else molecules
    unknown = sorted({*training.molecules, *training.asked} - molecules.keys())
    if unknown:
        raise ValueError(f"training {training.name}: {unknown[0]!r} is no group of the data set: {sorted(molecules)}")
    try:
        learned = [
            evenly(stretch(molecules[name], training.start, training.stop), training.n_frames)
            for name in training.molecules or molecules
        ]
        asked = [asked_frames(molecules[name], training.n_asked) for name in training.asked or molecules]
    except ValueError as error:
        raise ValueError(f"training {training.name}: {error}") from None
    return TrainingFrames(np.concatenate(learned), np.concatenate(asked))


def joined(parts: Mapping[str, Observation | FailedTraining]) -> Observation:
    """The answers of all trained models as one observation, which `part_of` takes apart again.

    Args:
        parts: by name of the training, the answers to the frames that it asks, as `observe_frames` stores them.
    """
    arrays: dict[str, Any] = {}
    notes: dict[str, str] = {}
    for name, part in parts.items():
        if isinstance(part, FailedTraining):
            arrays[f"{name}/untrained"] = np.array([part.cause], np.int8)
            notes[f"training {name}"] = part.sentence
        else:
            arrays |= {f"{name}/{key}": array for key, array in part.arrays.items()}
    return Observation(arrays, notes)


def part_of(observation: Observation, name: str) -> Observation | FailedTraining:
    """What `joined` stored of the training `name`.

    Raises:
        ValueError: the observation has nothing of it.
    """
    prefix = f"{name}/"
    arrays = {key.removeprefix(prefix): array for key, array in observation.arrays.items() if key.startswith(prefix)}
    if not arrays:
        raise ValueError(f"observation: training {name} is missing")
    if "untrained" in arrays:
        cause = observation.causes(1, name=f"{name}/untrained")
        return FailedTraining(Cause(int(cause[0])), observation.notes.get(f"training {name}", ""))
    return Observation(arrays)

"""The plan: which units must be observed, which must only be measured, which are done, and which are held. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, partial
from math import ceil
from typing import NamedTuple

from judge.data.testset import TestSet
from judge.evaluation.dispersion_policy import NOTHING_ADDED, Correction, correction_of
from judge.records.attempts import History, unit_prefix
from judge.records.content_keys import (
    OpenHash,
    joined_key,
    observation_keys,
    result_keys,
    shard_key,
    training_key,
    verdict_key,
)
from judge.records.items_file import result_path
from judge.records.records import End
from sandbox.guest_archive import training_guest_version
from sandbox.limits import Limits
from sandbox.verdict import Verdict
from submissions.records import StatedLabelSet, Submission
from tasks.kind import Kind, Parameters, ScoreFamily
from tasks.learning.training import Learning, Training
from tasks.observing.frames_observation import AsksEachStructure
from tasks.observing.shards import Shard
from tasks.suites.suite import Task

MAX_SHARDS = 64


@dataclass(frozen=True)
class Circumstances:
    """The circumstances that all units of a run share.

    Args:
        guest: version of the guest.
        limits: of a container; the time limit of a task replaces `task_s`.
        hardware: class, for timings.
        shard_structures: a task that asks about each structure once is cut into shards of at most so many structures;
            0: no task is cut.
        secret: of the store.
        training_guest: version of the guest of trainings; empty for the present one.
        equal_guests: groups of versions that the maintainer declares equal.
    """

    guest: str
    limits: Limits
    hardware: str
    shard_structures: int = 0
    secret: bytes = field(default=b"", repr=False)
    training_guest: str = ""
    equal_guests: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Unit:
    """One submission at one task.

    Args:
        label_set: of the labels, the baseline and the model's head; None if it is not known.
        declared: whether the submission declared it for this domain; else it is the data set's default.
        limits: of the container.
        observation_key: of all that the model's answers depend on.
        result_keys: the keys of results, by the sha256 of the answers.
        correction: the dispersion that is added to the answers.
        round: of judging this unit; 0 for the first.
        labelled: units of the submission whose answers are compared with those of this timing.
        training: that this unit is, as a part of another one.
        shard: likewise, of the questions of another one.
        parts: the trainings or the shards that are joined in this unit, each a unit of its own; empty: the model is
            asked here, as it is.
    """

    submission: Submission
    task: Task
    kind: Kind
    parameters: Parameters
    testset: TestSet
    label_set: str | None
    declared: bool
    limits: Limits
    observation_key: str
    result_keys: OpenHash = field(repr=False, compare=False)
    correction: Correction = NOTHING_ADDED
    round: int = 0
    labelled: tuple[Unit, ...] = field(default=(), repr=False, compare=False)
    training: Training | None = None
    shard: Shard | None = None
    parts: tuple[Unit, ...] = field(default=(), repr=False, compare=False)

    @property
    def name(self) -> str:
        """That of the task, and of the training or shard."""
        part = self.training or self.shard
        return f"{self.task.name} {part.name}" if part else self.task.name

    @property
    def is_part(self) -> bool:
        """Whether it is a part of another unit, and has no result of its own."""
        return self.training is not None or self.shard is not None

    @property
    def is_cut(self) -> bool:
        """Whether its questions are asked in shards."""
        return any(part.shard for part in self.parts)

    @property
    def part_keys(self) -> tuple[str, ...]:
        """The observation keys of its parts."""
        return tuple(part.observation_key for part in self.parts)

    @cached_property
    def prefix(self) -> str:
        """The key prefix of its attempts."""
        return unit_prefix(self.submission.id, self.task.name, self.observation_key)

    @property
    def measured_label_set(self) -> str | None:
        """The label set to measure with; None if the data set has no labels of it."""
        return _labelled(self.testset, self.label_set)

    @property
    def n_unanswered(self) -> int:
        """The number of items that a result without an observation lacks; 0 if only the items table could tell it.

        Dynamics run each structure once, and an interrupted run must still count in the number of runs.
        """
        return self.testset.n_structures if self.kind.traits.score is ScoreFamily.INSTABILITY else 0

    def result_key(self, end: End) -> str:
        """Key of the result that follows from `end`."""
        if end.observation is None:
            return verdict_key(observation_key=self.observation_key, verdict=end.verdict or Verdict.OK)
        return self.result_keys.hash_for(end.observation)


class Step(StrEnum):
    """The next step of a unit."""

    OBSERVE = "observe"
    MEASURE = "measure"
    DONE = "done"
    HELD = "held"
    OPEN = "open"  # claimed and not ended, by a judge that is alive or dead


class Planned(NamedTuple):
    """A unit, its attempts so far, and its next step."""

    unit: Unit
    history: History
    step: Step


class _Alike(NamedTuple):
    """The fields that units of one task share if their submissions state the same label set."""

    label_set: str | None
    declared: bool
    correction: Correction
    observation_keys: OpenHash
    result_keys: OpenHash
    training_keys: OpenHash


@dataclass(frozen=True)
class TaskUnits:
    """The units of one task. Fields that several submissions share are computed once."""

    task: Task
    kind: Kind
    testset: TestSet
    common: Circumstances
    _known: dict[tuple[str, bool | None, int, int], _Alike] = field(default_factory=dict)

    @cached_property
    def _limits(self) -> Limits:
        return self.common.limits.model_copy(update={"task_s": self.task.time_limit_s})

    def unit(self, submission: Submission, round: int = 0) -> Unit:
        """The unit of `submission`, with its observation key."""
        stated = submission.card.label_sets.get(self.task.model_domain)
        declared_set = (stated.name, stated.dispersion) if stated else ("", None)  # no label set is without a name
        alike = self._known.get((*declared_set, submission.contract, round))
        if alike is None:
            alike = self._alike(stated, submission.contract, round)
            self._known[*declared_set, submission.contract, round] = alike
        unit = Unit(
            submission=submission,
            task=self.task,
            kind=self.kind,
            parameters=self.task.parameters,
            testset=self.testset,
            label_set=alike.label_set,
            declared=alike.declared,
            limits=self._limits,
            observation_key=alike.observation_keys.hash_for(submission.image.id),
            result_keys=alike.result_keys,
            correction=alike.correction,
            round=round,
        )
        trainings = self._trainings if submission.image.trainer else ()
        return self._of_trainings(unit, alike.training_keys, trainings) if trainings else self._cut(unit)

    def _cut(self, unit: Unit) -> Unit:
        """`unit` with its shards as parts, if it is large. Its own key stays: the shards give the same answers."""
        most = self.common.shard_structures
        count = min(ceil(self.testset.n_structures / most), MAX_SHARDS) if most else 1
        if count < 2 or not isinstance(self.kind, AsksEachStructure):
            return unit
        shards = [Shard(number, count) for number in range(1, count + 1)]
        return replace(
            unit,
            parts=tuple(
                replace(unit, shard=shard, observation_key=shard_key(unit.observation_key, shard)) for shard in shards
            ),
        )

    @cached_property
    def _trainings(self) -> Sequence[Training]:
        return self.kind.trainings(self.task.parameters) if isinstance(self.kind, Learning) else ()

    def _of_trainings(self, unit: Unit, keys: OpenHash, trainings: Sequence[Training]) -> Unit:
        """`unit` with a part for each of `trainings`. Labels are learned as they are: nothing is added to answers."""
        bare = replace(unit, correction=NOTHING_ADDED)
        asked, guest = keys.hash_for(unit.submission.image.id), self.common.training_guest or training_guest_version()
        parts = tuple(
            replace(
                bare,
                training=training,
                observation_key=training_key(asked, training, self.testset.labels_sha256, guest),
            )
            for training in trainings
        )
        joined = joined_key(unit.observation_key, [part.observation_key for part in parts])
        return replace(bare, observation_key=joined, parts=parts)

    def _alike(self, stated: StatedLabelSet | None, contract: int, round: int) -> _Alike:
        task, kind, testset = self.task, self.kind, self.testset
        # A data set without labels (dynamics, timings) fits any declared label set, which chooses the model's head.
        declared = stated is not None and (not testset.label_sets or stated.name in testset.label_sets)
        label_set = stated.name if stated and declared else testset.default_label_set
        # A kind without labels times or integrates the model alone, even if its data set has labels.
        theory = testset.theories.get(label_set or "") if kind.traits.labelled else None
        correction = correction_of(theory, stated)
        keys_for = partial(
            observation_keys,
            contract=contract,
            guest=self.common.guest,
            domain=task.model_domain,
            label_set=label_set,
            kind=kind.name,
            observe_version=kind.observe_version,
            frames_sha256=testset.frames_sha256,
            limits=self._limits,
            failed_share=task.failed_share,
            hardware=self.common.hardware if depends_on_hardware(kind) else "",
            round=round,
            secret=self.common.secret,
        )
        observations = keys_for(parameters=task.parameters, dispersion=correction.d3)
        results = result_keys(
            labels_sha256=testset.labels_sha256,
            table_sha256=testset.table_sha256,
            reference_sha256=testset.reference_sha256,
            label_set=_labelled(testset, label_set),
            measure_version=kind.measure_version,
            parameters=task.parameters,
            failed_share=task.failed_share,
            round=round,
            secret=self.common.secret,
        )
        trainings = keys_for(parameters=Parameters(), dispersion=None)
        return _Alike(label_set, declared, correction, observations, results, trainings)


def depends_on_hardware(kind: Kind) -> bool:
    """Whether what is measured depends on the class of hardware: times, and trainings, which get further on better."""
    return kind.traits.times or isinstance(kind, Learning)


def _labelled(testset: TestSet, label_set: str | None) -> str | None:
    """`label_set` if `testset` has labels of it, else None."""
    return label_set if label_set in testset.label_sets else None


def next_step(unit: Unit, history: History, has_result: Callable[[str], bool], retry_held: bool = False) -> Step:
    """The next step of `unit`, given its attempts."""
    end = history.end
    if end is not None and unit.is_part:
        return Step.DONE
    if end is not None:
        path = result_path(unit.submission.id, unit.task.name, unit.result_key(end))
        return Step.DONE if has_result(path) else Step.MEASURE
    if history.open:
        return Step.OPEN
    return Step.HELD if history.held and not retry_held else Step.OBSERVE


def make_plan(
    units: Sequence[Unit], histories: Mapping[str, History], has_result: Callable[[str], bool], retry_held: bool = False
) -> list[Planned]:
    """The next step of each of `units`, in their order.

    Args:
        histories: by the units' prefixes.
        has_result: whether a result is in the store under that key.
    """
    plan = []
    for unit in units:
        history = histories.get(unit.prefix, History())
        plan.append(Planned(unit, history, next_step(unit, history, has_result, retry_held)))
    return plan

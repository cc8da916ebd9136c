"""The interface of a task kind: it *observes* a model without labels, and later *measures* without a model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from tasks.datasets.card import Card
from tasks.datasets.dataset import Dataset, Structures
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Measurement
from tasks.metrics.profiles import Profile
from tasks.metrics.run_progress import ProgressOfRuns
from tasks.model.calculator import BatchCalculator
from tasks.model.work import Work as Work  # it belongs to this interface
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions, Properties
from tasks.trajectories.dihedral_outliers import BackboneMap
from tasks.trajectories.trajectory import Trajectory


class Parameters(BaseModel):
    """The settings of a task, as a suite states them. Each kind has its own class."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def scored(self) -> bool:
        """Whether scores count a task of these parameters: its metrics have something to be compared with."""
        return True


@dataclass(frozen=True, eq=False)
class Observation:
    """The stored answers of a model: named arrays, and short notes as text."""

    arrays: Mapping[str, NDArray[Any]]
    notes: Mapping[str, str] = field(default_factory=dict)

    def array(self, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
        """The array of that name.

        Raises:
            ValueError: it is missing, or has another shape or dtype: the observation belongs to other questions.
        """
        if name not in self.arrays:
            raise ValueError(f"observation: {name} is missing")
        array = self.arrays[name]
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(f"observation: {name} is {array.dtype}{array.shape}, not {np.dtype(dtype)}{shape}")
        return array

    def causes(self, *shape: int, name: str = "failure") -> NDArray[np.int8]:
        """The codes of `Cause` in the array `name`.

        Raises:
            ValueError: it is missing, has another shape, or a code names no cause.
        """
        failure = self.array(name, shape, np.int8)
        if failure.size and not (failure.min() >= 0 and failure.max() <= max(Cause)):
            raise ValueError(f"observation: {name} has codes that name no cause")
        return failure


class Checkpoint(Protocol):
    """Storage on this host from which a long observation resumes after the judge was killed."""

    def load(self) -> Mapping[str, NDArray[Any]] | None:
        """The arrays that were saved last; None if there are none, or they cannot be read."""
        ...

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replaces the arrays that were saved before, whole or not at all."""
        ...


class HostTooNoisy(Exception):
    """This host disturbed the timings: no fault of the model, and no publishable result. The text says how much."""


@dataclass(frozen=True, eq=False)
class JudgedAnswers:
    """Stored answers of the same model in a task with labels.

    Args:
        task: name.
        observation: sha256 of the observation.
    """

    task: str
    observation: str
    frames: Frames
    answers: Predictions


@dataclass(frozen=True)
class Watch:
    """The surroundings of an observation: a clock, a deadline and a progress report.

    Args:
        clock: monotonic seconds.
        deadline: on that clock; a task that can end early (a trajectory) stops there by itself.
        progress: called with (done, total, unit).
        echo: seconds of one round trip of `nbytes` over the wire without any calculator, or None in-process.
        failed_share: an observation of many structures stops early once more than this share of them has failed.
        checkpoint: None if nothing is to be kept.
        resumed: called if the observation goes on from the checkpoint that an interrupted one left.
        secret: random numbers for hidden structures, for consistency checks and for what a kind draws depend on it, so
            nobody else can compute them; may be empty.
        judged: by which the accuracy of the model is judged, for a consistency check; None: there are none.
    """

    clock: Callable[[], float]
    deadline: float = np.inf
    progress: Callable[[int, int, str], None] = lambda done, total, unit: None
    echo: Callable[[int], float] | None = None
    failed_share: float = 1.0
    checkpoint: Checkpoint | None = None
    resumed: Callable[[], None] = lambda: None
    secret: bytes = field(default=b"", repr=False)
    judged: Iterable[JudgedAnswers] | None = field(default=None, repr=False)

    def in_time(self) -> bool:
        """Whether the deadline has not passed."""
        return self.clock() <= self.deadline


class DatasetPart(StrEnum):
    """The part of a data set that a kind needs; all but the first three are fields of `Table`."""

    STRUCTURES = "structures"  # alone, without any reference
    LABELS = "labels"
    GEOMETRIES = "geometries"  # relaxed structures, or differences of relaxed energies
    DIFFERENCES = "differences"
    CURVES = "curves"
    SCANS = "scans"
    CRYSTALS = "crystals"
    SYSTEMS = "systems"
    PATHS = "paths"
    PAIRS = "pairs"
    CONDUCTIVITIES = "conductivities"

    @property
    def is_in_table(self) -> bool:
        """Whether it is a field of `Table`, with one entry an item."""
        return self not in (DatasetPart.STRUCTURES, DatasetPart.LABELS, DatasetPart.GEOMETRIES)


class ScoreFamily(StrEnum):
    """The score that the metrics of a kind enter."""

    FORCE_FIELD = "force_field"
    PROPERTY = "property_error"
    EFFICIENCY = "efficiency"
    INSTABILITY = "instability"
    NONE = ""


@dataclass(frozen=True)
class KindBaseline:
    """The baseline that divides the errors of a kind.

    Args:
        name: in a table.
        about: one or two sentences.
        one: a sentence about a divided error of 1.
    """

    name: str = "Trivial model"
    about: str = "The trivial model that every error of this task is divided by."
    one: str = "1 is no better than a trivial model."


@dataclass(frozen=True)
class ImportFormat:
    """A format of `judge data import` that a kind brings with it.

    Args:
        name: as the command line states it.
        read: the data set in a file or folder, with the given card; it sets `periodic` of the card.
        folder: whether the path must be a folder.
    """

    name: str
    read: Callable[[Path, Card], Dataset] = field(repr=False)
    folder: bool = True


@dataclass(frozen=True)
class Traits:
    """The properties of a kind that the rest of the judge needs, as plain data.

    Args:
        title: for readers, in lower case.
        about: what it measures, in one line.
        measures: the part of a data set that it needs.
        import_format: of its data sets: the name of a format that the judge has, or a format that the kind brings;
            None: data sets are made in Python.
        score: which score counts it.
        metrics: all metrics that it may measure. The scored ones appear on pages in this order.
        needs: properties without which a model gets no number for any structure.
        also_uses: further properties, without which metrics or structures have no number.
        times: whether it measures times: then the class of hardware is part of an observation's key.
        profiles: the curves that its items hold, for figures.
        progress: how far its runs got, for figures; None: it has no runs.
        first_run: the stored frames of a run, by the name that `progress` gives it, from an observation, its data set
            and parameters; None if there are none. It raises ValueError if these do not fit. None: no run is stored.
        backbone_maps: the dihedrals of proteins in the same run, also from the name of a label set (None: the default
            one), for Ramachandran plots; empty if it has none. None: the kind has none.
        draws: what of its questions is drawn from the store's secret, in one sentence for readers: then it is given as
            `Watch.secret` also where structures are public. Empty: only order and copies of hidden structures are.
        page: the text of a Jinja template that explains the kind on its tasks' pages; empty: the file
            `templates/kinds/<kind>.html` if there is one, else a plain page made from these traits.
    """

    title: str
    about: str = ""
    measures: DatasetPart = DatasetPart.STRUCTURES
    import_format: str | ImportFormat | None = None
    score: ScoreFamily = ScoreFamily.NONE
    metrics: tuple[KindMetric, ...] = ()
    baseline: KindBaseline = KindBaseline()
    needs: Properties = ("energy",)
    also_uses: Properties = ()
    times: bool = False
    profiles: tuple[Profile, ...] = ()
    progress: ProgressOfRuns | None = None
    first_run: Callable[[Observation, Dataset, Any, str], Trajectory | None] | None = field(default=None, repr=False)
    backbone_maps: Callable[[Observation, Dataset, Any, str, str | None], Sequence[BackboneMap]] | None = field(
        default=None, repr=False
    )
    draws: str = ""
    page: str = ""

    @property
    def labelled(self) -> bool:
        """Whether answers are compared with references, which may contain dispersion."""
        return self.measures is not DatasetPart.STRUCTURES

    @cached_property
    def scored_names(self) -> tuple[str, ...]:
        """Names and patterns of the metrics that the property error counts."""
        return tuple(metric.name for metric in self.metrics if metric.scored)

    def scored(self, names: Iterable[str]) -> tuple[str, ...]:
        """The `names` that the property error counts, sorted by the first pattern that each matches, then by name.

        A metric of one group (`off_percent:<group>`) is a part of another metric, and is not counted.
        """
        return _scored(self.scored_names, frozenset(names))


@lru_cache(maxsize=1000)  # asked for every model and task
def _scored(patterns: Sequence[str], names: Collection[str]) -> tuple[str, ...]:
    ranks = {
        name: next((i for i, pattern in enumerate(patterns) if fnmatchcase(name, pattern)), None)
        for name in names
        if ":" not in name
    }
    return tuple(name for _, name in sorted((rank, name) for name, rank in ranks.items() if rank is not None))


class Kind(Protocol):
    """One kind of task. A version goes up when the questions, or the numbers from the answers, change."""

    name: str
    observe_version: int
    measure_version: int
    parameters: type[Parameters]
    traits: Traits

    def observe(self, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch) -> Observation:
        """Asks the model. `structures` has no labels."""
        ...

    def work(self, structures: Structures, parameters: Any) -> Work:
        """The work of `observe`; if it depends on the answers (a relaxation), the typical work."""
        ...

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: Any, label_set: str | None
    ) -> Measurement:
        """Metrics and items from the observation and the labels of `label_set` (None: the default label set).

        Raises:
            ValueError: the observation does not fit the data set.
        """
        ...


@runtime_checkable
class Building(Protocol):
    """A kind that builds further structures from those of a data set, such as supercells or bands."""

    def build_faults(self, dataset: Dataset) -> list[str]:
        """A line for each item that `observe` or `measure` could not build: table, item, field and fault.

        Empty also if the data set is not for this kind. It asks no model, and is quick: every import calls it.
        """
        ...


@runtime_checkable
class Rechecking(Protocol):
    """A kind with a consistency check: a second, fresh start of the model answers some of the questions again."""

    def recheck(
        self, observation: Observation, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """`observation` together with the answers of the fresh start."""
        ...

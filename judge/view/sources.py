"""The data of the pages beside the leaderboard, read from store and data root before the pages are drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from judge.ranking.derived_values import DerivedValues
from judge.ranking.interval_cache import IntervalCache
from judge.ranking.leaderboard import TaskLine
from judge.records.cache_file import CacheFile
from judge.records.manifest import Manifest
from scoring.choice_sums import TaskSums
from tasks.datasets.card import Card
from tasks.datasets.dataset import Dataset
from tasks.metrics.measurement import Items
from tasks.trajectories.dihedral_outliers import BackboneMap
from tasks.trajectories.trajectory import Trajectory


@dataclass(frozen=True)
class Sources:
    """The data of the pages beside the board. Pages leave out the parts that are missing here.

    Args:
        public: names of the public data sets; every other data set is hidden.
        cards: the cards that can be read here, by data set.
        logs: the container's log of the preflight, by submission.
        manifests: the manifests of this suite's publications, the oldest first.
        items: the tables with curves, of dynamics and physicality, by submission and task.
        result_stamps: by submission and task, a text that changes with the stored result; without one it is compared.
        derived: plain values of results and their items from the last build.
        kept: public scores of the last build.
        templates: gives templates that are already compiled, by name.
        item_stamps: by submission and task, a text that changes with the items; those without one are compared whole.
        data: the data root; None: no trajectory is shown.
        trajectories: the stored frames of a run of a task of a submission, by its name; None if they cannot be read.
        backbones: the dihedrals of proteins in such a run; empty if they cannot be read.
        choices: reads the public error sums by groups of items, for the chooser.
        choice_cache: of these sums; None: they are computed in each build.
        item_table: the items of a task of a submission; None if they cannot be read. Unlike `items`, of every kind.
        dataset: the data set of a task's result; None if it cannot be read, or if it changed since.
        now: the time of this publication; None if the pages are not published, and then they have no date.
        site_url: the address of the site, ending in a slash; empty if it is not known.
    """

    public: Collection[str] = ()
    cards: Mapping[str, Card] = field(default_factory=dict)
    logs: Mapping[str, str] = field(default_factory=dict)
    manifests: Sequence[Manifest] = ()
    items: Mapping[tuple[str, str], Items] = field(default_factory=dict)
    item_stamps: Mapping[tuple[str, str], str] = field(default_factory=dict)
    result_stamps: Mapping[tuple[str, str], str] = field(default_factory=dict)
    derived: DerivedValues | None = None
    kept: IntervalCache | None = None
    templates: Callable[[], Mapping[str, bytes]] = dict
    data: Path | None = None
    trajectories: Callable[[TaskLine, str], Trajectory | None] = lambda line, run: None
    backbones: Callable[[TaskLine, str], Sequence[BackboneMap]] = lambda line, run: ()
    choices: Callable[[], tuple[TaskSums, ...]] = tuple
    choice_cache: CacheFile | None = None
    item_table: Callable[[TaskLine], Items | None] = lambda line: None
    dataset: Callable[[TaskLine], Dataset | None] = lambda line: None
    now: datetime | None = None
    site_url: str = ""

"""The error sums by groups of items of all results of a board, from the items tables in the store.

Reading all tables of 200 models takes a while. So the sums of a result are kept from one build to the next, under a
hash of all that they are computed from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter

from judge.config import JudgeSettings
from judge.disclosure.choice_groups import ChoiceGroups, choice_groups, parts_of_metric
from judge.disclosure.public_choices import PublicSums, public_column, public_model, public_reference
from judge.disclosure.public_curves import is_hidden
from judge.disclosure.shared_items import item_fingerprints, sharing
from judge.publishing.build_cache import code_digest
from judge.ranking.energy_drifts import DRIFT, drift_decades
from judge.ranking.error_sums import error_sums
from judge.ranking.interval_cache import IntervalCache, key_of
from judge.ranking.item_makeup import Makeup, makeup_of, makeups
from judge.ranking.leaderboard import Leaderboard, TaskLine
from judge.ranking.load import items_key, load_items
from judge.ranking.run_conditions import run_conditions
from judge.records.cache_file import CacheFile
from judge.records.items_file import result_path
from judge.records.records import Result
from judge.view.sources import Sources
from scoring.choice_sums import ModelSums, ReferenceSums, TaskSums
from scoring.lambench.instability import Decades
from scoring.names import FORCE_FIELD, INSTABILITY, PROPERTY_ERROR
from submissions.store.interface import Store
from tasks.datasets.card import DatasetError
from tasks.datasets.dataset import load_dataset, load_structures
from tasks.dynamics.simulate import DynamicsSettings
from tasks.kind import ScoreFamily
from tasks.kinds.registry import KINDS
from tasks.metrics.contributions import Contributing, Contribution
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric, MetricPart
from tasks.structures.frames import Bool, Float
from tasks.suites.suite import Suite, Task

_REFERENCE = TypeAdapter(ReferenceSums)
_SUMS = TypeAdapter(TaskSums)


def choice_cache(settings: JudgeSettings, suite: Suite) -> CacheFile:
    """The sums of the last build of this suite from this store."""
    store = f"{settings.store} {settings.endpoint_url}"
    name = sha256(f"{store} {suite.name}".encode()).hexdigest()[:16]
    return CacheFile(settings.log.parent / "index" / f"choices-{name}.sqlite", f"{store} {code_digest()}")


def stored_choices(store: Store, board: Leaderboard, sources: Sources) -> Callable[[], tuple[TaskSums, ...]]:
    """A function that reads the sums of a board, once."""

    def read() -> tuple[TaskSums, ...]:
        stamps = {each.key: each.stamp for each in store.stamped("results/") if each.is_settled}
        return StoredChoices(store, board, sources, IntervalCache(sources.choice_cache, stamps)).read()

    return cache(read)


@dataclass(frozen=True)
class StoredChoices:
    """Reads the sums of a board.

    Args:
        cache: of sums by result; it is closed after the sums were read.
    """

    store: Store
    board: Leaderboard
    sources: Sources
    cache: IntervalCache = field(default_factory=IntervalCache)

    def read(self) -> tuple[TaskSums, ...]:
        """The public sums of each task that has any."""
        tasks = [self._task(index, task) for index, task in enumerate(self.board.suite.tasks)]
        self.cache.close()
        return tuple(task for task in tasks if task.columns)

    def _task(self, index: int, task: Task) -> TaskSums:
        lines = {row.submission.id: row.tasks[index] for row in self.board.rows}
        metrics = [metric for name, metric in self._floors if name == task.name]
        card = self.sources.cards.get(task.dataset)
        if not metrics or card is None or self.sources.data is None:
            return TaskSums(task.name, ())
        hidden = any(is_hidden(line, self.sources.public) for line in lines.values())
        shared = hidden and task.name in self._sharing(task.kind)
        reader = _TaskReader(self, task, self.sources.data / task.dataset, card.model_dump_json(), shared)
        judged = {id: line for id, line in lines.items() if line.ok and _is_of(line)}
        floors = [self._floors[task.name, name] for name in metrics]
        stamps = {id: reader.stamps(line) for id, line in judged.items()}
        stated = task.name, task.domain, task.parameters.model_dump(mode="json")
        key = key_of("choice task", stated, reader.card, hidden, shared, metrics, floors, sorted(stamps.items()))
        if all(stamps.values()) and (entry := self.cache.get(key)):
            sums, made_from = entry.split(b"\n")
            if all(self.cache.get(used) for used in json.loads(made_from)):  # those that are used stay in the cache
                return _SUMS.validate_json(sums)
        computed = self._computed(task, reader, judged, metrics, hidden)
        if all(stamps.values()):
            self.cache.put(key, _SUMS.dump_json(computed) + b"\n" + json.dumps(sorted(reader.used)).encode())
        return computed

    def _computed(
        self, task: Task, reader: _TaskReader, judged: Mapping[str, TaskLine], metrics: list[str], hidden: bool
    ) -> TaskSums:
        by_result = {id: reader.sums(line, metrics) for id, line in judged.items()}
        columns = [
            public_column(name, {id: sums[name] for id, sums in by_result.items() if name in sums}, hidden=hidden)
            for name in metrics
        ]
        runs = run_conditions(task.parameters, reader.baths, hidden=hidden)
        return TaskSums(task.name, tuple(column for column in columns if column is not None), runs)

    def _sharing(self, kind: str) -> frozenset[str]:
        """The tasks of a kind that have an item in common with another one."""
        if kind not in self._shared:
            of_kind = [task for task in self.board.suite.tasks if task.kind == kind]
            known = {task.name: self._fingerprints(task) for task in of_kind} if len(of_kind) > 1 else {}
            self._shared[kind] = sharing(known)
        return self._shared[kind]

    @cached_property
    def _shared(self) -> dict[str, frozenset[str]]:
        return {}

    def _fingerprints(self, task: Task) -> list[str]:
        card = self.sources.cards.get(task.dataset)
        if card is None or self.sources.data is None:
            return []
        part = task.traits.measures
        key = key_of("choice items", dict(sorted(card.sha256.items())), part)
        entry = self.cache.get(key)
        if not entry:
            try:
                found = item_fingerprints(load_dataset(self.sources.data / task.dataset), part)
            except (DatasetError, ValueError):  # then it has no sums either
                found = []
            entry = json.dumps(found).encode()
            self.cache.put(key, entry)
        fingerprints: list[str] = json.loads(entry)
        return fingerprints

    @cached_property
    def _floors(self) -> Mapping[tuple[str, str], float]:
        """By task and metric that the default scheme divides by a trivial model's error, the least error it counts."""
        terms = (row.scores[key] for row in self.board.rows for key in (FORCE_FIELD, PROPERTY_ERROR))
        leaves = sorted((leaf for term in terms for leaf in term.node.leaves), key=lambda leaf: leaf.key)
        scales = {leaf.key: leaf.scale.numbers() for leaf in leaves if leaf.scale.name == "relative error"}
        floors = {key: float(numbers.get("floor") or 0.0) for key, numbers in scales.items()}
        drifts = [task.name for task in self.board.suite.tasks if task.traits.score is ScoreFamily.INSTABILITY]
        return floors | ({(task, DRIFT): 0.0 for task in drifts} if self.decades else {})

    @cached_property
    def decades(self) -> Decades | None:
        """The scale of energy drifts; None if no task has any."""
        leaves = (leaf for row in self.board.rows for leaf in row.scores[INSTABILITY].node.leaves)
        return next((leaf.scale for leaf in leaves if isinstance(leaf.scale, Decades)), None)


@dataclass(frozen=True)
class _TaskReader:
    """Reads the sums of the results of a task.

    Args:
        card: of its data set, as JSON, with the hashes of its files.
        shared: whether another data set has items in common with it.
        used: keys of the cache that the sums so far were made from.
    """

    board: StoredChoices
    task: Task
    folder: Path
    card: str
    shared: bool
    used: set[str] = field(default_factory=set)

    def stamps(self, line: TaskLine) -> list[str]:
        """The keys and stamps of a result and its items; empty if either may still change and keep its stamp."""
        assert line.result is not None
        record = result_path(line.result.submission, line.result.task, line.result.result_key)
        known = self.board.cache.stamps
        paths = (items_key(line.result), record)
        return [f"{path} {known[path]}" for path in paths] if all(path in known for path in paths) else []

    def sums(self, line: TaskLine, names: list[str]) -> dict[str, PublicSums]:
        """The sums of a result by metric."""
        result, kept, hidden = line.result, self.board.cache, is_hidden(line, self.board.sources.public)
        assert result is not None
        metrics = [name for name in names if name in result.metrics]
        stamps = self.stamps(line)
        made_from = stamps, self.task.domain, self.card, hidden, self.shared, metrics
        key = key_of("choice", *made_from) if stamps else None
        entry = kept.get(key) if key else b""
        stored = json.loads(entry) if entry else None
        if stored is None or not all(kept.get(reference) for reference, _, _ in stored.values()):
            stored = self._computed(result, metrics, hidden)
            if key:
                kept.put(key, json.dumps(stored).encode())
        if key:
            self.used.update((key, *(reference for reference, _, _ in stored.values())))
        return {name: self._public(result, name, *entry) for name, entry in stored.items()}

    def _public(self, result: Result, name: str, key: str, sums: list[list[float]], root: bool) -> PublicSums:
        metric, floor = result.metrics[name], self.board._floors[self.task.name, name]
        if metric.reference_uncertainty is not None and metric.baseline:
            floor = max(floor, metric.reference_uncertainty / metric.baseline)
        if key not in self._references:
            self._references[key] = _REFERENCE.validate_json(self.board.cache.get(key))
        errors, spreads, slopes, failed, blocks = (tuple(values) for values in sums)
        model = ModelSums(0, errors, spreads, slopes, tuple(map(int, failed)), blocks)
        return PublicSums(key, self._references[key], model, root, floor)

    @cached_property
    def _references(self) -> dict[str, ReferenceSums]:
        """By the key in the cache."""
        return {}

    def _computed(
        self, result: Result, names: list[str], hidden: bool
    ) -> dict[str, tuple[str, list[Sequence[float]], bool]]:
        """By metric the key of its reference, its sums, and whether it is a root."""
        items = load_items(self.board.store, result)
        made_of = None if items is None else makeup_of(items, self._makeups)
        if items is None or made_of is None:
            return {}
        try:
            contributions = self._contributions(result, items, names)
        except ValueError:  # an older version measured the items; the board reports it
            return {}
        computed: dict[str, tuple[str, list[Sequence[float]], bool]] = {}
        for c, metric in contributions:
            parts = parts_of_metric(result, c.metric) if hidden else ()
            labels, groups = self._groups(items, made_of, c.counts > 0, parts, hidden)
            sums = error_sums(c, metric, items, labels, len(groups))
            if groups and sums is not None:
                key = self._keep(public_reference(groups, sums, hidden=hidden))
                model = public_model(sums, hidden=hidden)
                lists: list[Sequence[float]] = [model.errors, model.spreads, model.slopes, model.failed]
                lists.append(model.block_errors)
                computed[c.metric] = key, lists, sums.root
        return computed

    def _contributions(self, result: Result, items: Items, names: list[str]) -> list[tuple[Contribution, Metric]]:
        kind, decades = KINDS[result.kind], self.board.decades
        if DRIFT in names and decades is not None:
            return [drift_decades(items, decades)]
        metrics = {name: result.metrics[name] for name in names}
        contributions = kind.contributions(items, metrics) if isinstance(kind, Contributing) else []
        return [(each, metrics[each.metric]) for each in contributions]

    def _groups(
        self, items: Items, made_of: Sequence[Makeup], takes_part: Bool, parts: Sequence[MetricPart], hidden: bool
    ) -> ChoiceGroups:
        """The groups of items, which most results share."""
        named = tuple((part.by, part.name, part.n_items) for part in parts)
        key = (tuple(items.id), tuple(items.group), takes_part.tobytes(), named, hidden)
        if key not in self._known:
            args = made_of, items.group, takes_part, parts
            self._known[key] = choice_groups(*args, hidden=hidden, shared=self.shared)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[Hashable, ChoiceGroups]:
        return {}

    def _keep(self, reference: ReferenceSums) -> str:
        """The key under which the cache has this reference now."""
        content = _REFERENCE.dump_json(reference)
        key = key_of("choice reference", content.decode())
        self.board.cache.put(key, content)
        return key

    @cached_property
    def _makeups(self) -> Mapping[str, Makeup]:
        """Of the items of the data set by id; empty if it cannot be read."""
        try:
            return makeups(load_dataset(self.folder), self.task.traits.measures, self.task.domain)
        except (DatasetError, ValueError):
            return {}

    @property
    def baths(self) -> Float | None:
        """(n,) the temperatures [K] that the data set states of its structures; None if it states none."""
        try:
            is_run = isinstance(self.task.parameters, DynamicsSettings)
            return load_structures(self.folder).conditions.get("temperature_k") if is_run else None
        except DatasetError:
            return None


def _is_of(line: TaskLine) -> bool:
    """Whether the result is of the data set that the suite states."""
    return line.result is not None and line.result.provenance.dataset == line.task.dataset

"""Reads the sources of the pages beside the leaderboard: cards from the data root, the rest from the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache

from judge.config import JudgeSettings
from judge.disclosure.public_learning import learns
from judge.disclosure.redaction import is_public, read_cards
from judge.publishing.stored_choices import choice_cache, stored_choices
from judge.publishing.stored_structures import StoredStructures
from judge.publishing.stored_trajectories import StoredTrajectories
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import load_items, settled_stamps
from judge.records.items_file import items_path, result_path
from judge.records.manifest import ManifestChain
from judge.records.records import Result
from judge.view.sources import Sources
from submissions.preflight.log import read_log
from submissions.records import utc_now
from submissions.store.interface import Store
from tasks.kinds.nve import Nve
from tasks.metrics.measurement import Items
from tasks.physicality.kind import Physicality
from tasks.suites.suite import Suite, Task

WITH_CURVES = (Nve.name, Physicality.name)


def known_sources(
    settings: JudgeSettings, suite: Suite, datasets: Iterable[str], chain: ManifestChain, now: datetime | None = None
) -> Sources:
    """The sources from settings, data root and manifests. Those of single submissions are added by `with_stored`.

    Args:
        datasets: names of the data sets of the suite and of the results shown.
        now: time of the publication; None if the pages are not published.
    """
    cards = read_cards(settings.data, datasets)
    today = (now or utc_now()).date()
    return Sources(
        public=frozenset(name for name, card in cards.items() if is_public(card, today)),
        cards=cards,
        manifests=tuple(stored.manifest for stored in chain.manifests if stored.manifest.suite == suite.name),
        data=settings.data,
        choice_cache=choice_cache(settings, suite) if now is None else None,
        now=now,
        site_url=settings.site_url,
    )


def with_stored(sources: Sources, store: Store, board: Leaderboard) -> Sources:
    """`sources` with the logs, items and trajectories of all submissions on the board."""
    logs = {row.submission.id: read_log(store, row.submission.id) for row in board.rows}
    lines = [(row.submission.id, line) for row in board.rows for line in row.tasks]
    judged = {(id, line.task.name): line.result for id, line in lines if line.result}
    with_curves = {task.name for task in board.suite.tasks if _has_curves(task)}
    results = {(id, task): result for (id, task), result in judged.items() if task in with_curves}
    stamps = settled_stamps(store)
    choices = stored_choices(store, board, sources)
    with_items = replace(
        sources,
        logs=logs,
        items=StoredItems(store, results),
        item_stamps=_stamps(stamps, items_path, judged),
        result_stamps=_stamps(stamps, result_path, judged),
        choices=choices,
    )
    if sources.data is None:
        return with_items
    runs = StoredTrajectories(store, sources.data)
    read = StoredStructures(store, sources.data)
    return replace(with_items, trajectories=runs, backbones=runs.backbones, item_table=read.items, dataset=read.dataset)


def _stamps(
    stamps: Mapping[str, str], path: Callable[[str, str, str], str], results: Mapping[tuple[str, str], Result]
) -> dict[tuple[str, str], str]:
    """The keys and stamps of the files of results, of those that have one."""
    paths = {unit: path(result.submission, result.task, result.result_key) for unit, result in results.items()}
    return {unit: f"{key} {stamps[key]}" for unit, key in paths.items() if key in stamps}


def _has_curves(task: Task) -> bool:
    measured = bool(task.traits.profiles) or task.traits.progress is not None
    return task.kind in WITH_CURVES or measured or learns(task)


class StoredItems(Mapping[tuple[str, str], Items]):
    """The items tables of results by submission and task. Each is read when it is first used.

    Args:
        results: by submission and task. A table that is missing or broken is not in the mapping.
    """

    def __init__(self, store: Store, results: Mapping[tuple[str, str], Result]) -> None:
        self._results = results
        self._read = cache(lambda key: load_items(store, results[key]))

    def __getitem__(self, key: tuple[str, str]) -> Items:
        items = self._read(key)
        if items is None:
            raise KeyError(key)
        return items

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return (key for key in self._results if self._read(key) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

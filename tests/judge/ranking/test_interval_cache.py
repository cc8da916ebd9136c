"""A leaderboard whose intervals come from the cache of an earlier build is the same as one that is computed anew."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from judge.ranking.build import build_leaderboard
from judge.ranking.interval_cache import IntervalCache
from judge.ranking.leaderboard import Leaderboard
from judge.records.cache_file import CacheFile
from judge.records.items_file import items_path, pack_items
from judge.records.records import Result
from submissions.records import Submission
from tasks.metrics.measurement import Items
from tests.world.board_records import (
    SUITE,
    error,
    frames_metrics,
    good_results,
    items_of,
    result,
    runs,
    submission,
)

A, B, C = submission("alpha"), submission("beta"), submission("gamma")
TASKS = {task.name: task for task in SUITE.tasks}
Unit = tuple[str, str]


@dataclass(frozen=True)
class Records:
    """The records of a leaderboard; `tables` has the items of some results, None if they cannot be read."""

    models: Sequence[Submission]
    results: Sequence[Result]
    tables: Mapping[Unit, Items | None] = field(default_factory=dict)

    def items(self, result: Result) -> Items | None:
        unit = result.submission, result.task
        return self.tables[unit] if unit in self.tables else items_of(result, n_clusters=5)

    def with_results(self, *results: Result) -> Records:
        """These results in place of those of the same units."""
        units = {(each.submission, each.task) for each in results}
        kept = [each for each in self.results if (each.submission, each.task) not in units]
        return replace(self, results=[*kept, *results])

    def with_table(self, model: Submission, task: str, table: Items | None) -> Records:
        return replace(self, tables={**self.tables, (model.id, task): table})


@dataclass
class Builds:
    """Builds with one cache.

    Args:
        loaded: the tasks of the items that the last build read, by submission.
    """

    path: Path
    loaded: list[Unit] = field(default_factory=list)

    def build(self, records: Records, version: str = "1") -> Leaderboard:
        self.loaded.clear()
        stamps = {}
        for each in records.results:
            if (items := records.items(each)) is not None:
                stamp = hashlib.sha256(pack_items(items)).hexdigest()
                stamps[items_path(each.submission, each.task, each.result_key)] = stamp

        def load(result: Result) -> Items | None:
            self.loaded.append((result.submission, result.task))
            return records.items(result)

        cache = IntervalCache(CacheFile(self.path, version), stamps)
        board = build_leaderboard(SUITE, records.models, records.results, load, cache=cache)
        cache.close()
        return board

    @property
    def loaded_for_intervals(self) -> list[Unit]:
        """Runs of dynamics are read for the score itself."""
        return [unit for unit in self.loaded if unit[1] != "drift"]


def anew(records: Records) -> Leaderboard:
    return build_leaderboard(SUITE, records.models, records.results, records.items)


def numbers(board: Leaderboard) -> str:
    """All that a cache could change, to the last bit."""
    return repr((board.robustness, board.problems))


@pytest.fixture
def builds(tmp_path: Path) -> Builds:
    return Builds(tmp_path / "intervals.sqlite")


def two_models() -> Records:
    return Records([A, B], good_results(A, 0.2) + good_results(B, 0.25))


def test_a_second_build_reads_no_table_and_gives_the_same_numbers(builds: Builds) -> None:
    first = builds.build(two_models())
    assert len(builds.loaded_for_intervals) == 8
    again = builds.build(two_models())
    assert builds.loaded_for_intervals == []
    assert numbers(again) == numbers(first) == numbers(anew(two_models()))


def test_another_version_of_the_judge_computes_everything_again(builds: Builds) -> None:
    builds.build(two_models())
    builds.build(two_models(), version="2")
    assert len(builds.loaded_for_intervals) == 8


def unranked_more() -> Records:
    return Records([A, B, C], [*two_models().results, *good_results(C, 0.22)[:2]])


def ranked_more() -> Records:
    return Records([A, B, C], [*two_models().results, *good_results(C, 0.22)])


def now_ranked() -> Records:
    """B had no result of one task."""
    return two_models()


def b_unranked() -> Records:
    return replace(two_models(), results=[*good_results(A, 0.2), *good_results(B, 0.25)[:-1]])


def other_clusters() -> Records:
    """C has a cluster in one task that no other model has, so the draw of all models changes."""
    records = ranked_more()
    table = items_of(next(r for r in records.results if (r.submission, r.task) == (C.id, "crystals")), n_clusters=5)
    clusters = [f"other {name}" for name in table.cluster]
    return records.with_table(C, "crystals", replace(table, cluster=clusters))


def other_labels() -> Records:
    """B's labels have no virials, so its tree has another shape."""
    return two_models().with_results(result(B, TASKS["crystals"], frames_metrics(0.25), label_set="wB97M-V"))


def other_metric() -> Records:
    return two_models().with_results(result(A, TASKS["barriers"], {"mae": error(0.9, "eV")}))


def other_baseline() -> Records:
    return two_models().with_results(result(A, TASKS["barriers"], {"mae": error(0.2, "eV", baseline=0.5)}))


def other_items() -> Records:
    """Items with the same mean in other clusters."""
    table = items_of(next(r for r in two_models().results if (r.submission, r.task) == (A.id, "crystals")))
    clusters = [f"cluster {i // 2}" for i in range(len(table))]
    return two_models().with_table(A, "crystals", replace(table, cluster=clusters))


def other_columns() -> Records:
    """C has virials of the molecules, so all models are asked for them."""
    return ranked_more().with_results(result(C, TASKS["molecules"], frames_metrics(0.22, virial=True)))


def other_failure_cost() -> Records:
    """The stored metric no longer follows from the items."""
    metric = replace(error(0.2, "eV"), failure_cost=0.19)
    return two_models().with_results(result(A, TASKS["barriers"], {"mae": metric}))


SLOPES = [1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 2e-3]


def same_runs() -> Records:
    records = ranked_more()
    for model in records.models:
        records = records.with_table(model, "drift", runs(SLOPES))
    return records


def other_runs() -> Records:
    """C has more runs than the others: all ranked models draw from a larger pool."""
    return same_runs().with_table(C, "drift", runs([*SLOPES, *SLOPES]))


CHANGES = {
    "a result more, not ranked": (two_models, unranked_more, C),
    "a ranked model more": (two_models, ranked_more, C),
    "a model becomes ranked": (b_unranked, now_ranked, B),
    "clusters that no other model has": (ranked_more, other_clusters, A),
    "another label set": (two_models, other_labels, B),
    "another metric": (two_models, other_metric, A),
    "another baseline": (two_models, other_baseline, A),
    "other items": (two_models, other_items, A),
    "a metric that others lack": (ranked_more, other_columns, A),
    "another failure cost": (two_models, other_failure_cost, A),
    "a run that no other model has": (same_runs, other_runs, A),
    "a model less": (ranked_more, two_models, B),
}


@pytest.mark.parametrize("name", CHANGES)
def test_after_a_change_the_numbers_are_those_of_a_build_without_a_cache(builds: Builds, name: str) -> None:
    before, after, model = CHANGES[name]
    first = builds.build(before())
    second = builds.build(after())
    assert numbers(second) == numbers(anew(after()))
    changed = [
        repr([of_score.get(model.id) for by_score in parts for of_score in by_score.values()])
        for parts in (
            (board.robustness.intervals, board.robustness.weights, board.robustness.without)
            for board in (first, second)
        )
    ]
    assert changed[0] != changed[1], "the change changes nothing, so the test cannot fail"
    assert numbers(builds.build(before())) == numbers(first)


def test_one_more_result_reads_the_tables_of_its_model_alone(builds: Builds) -> None:
    fewer = replace(ranked_more(), results=ranked_more().results[:-1])
    builds.build(fewer)
    builds.build(ranked_more())
    assert {id for id, _ in builds.loaded_for_intervals} == {C.id}


@pytest.mark.parametrize("table", [None, "other numbers"])
def test_a_problem_is_reported_by_every_build(builds: Builds, table: str | None) -> None:
    items = items_of(result(A, TASKS["barriers"], {"mae": error(0.4, "eV")}), n_clusters=5) if table else None
    records = two_models().with_table(A, "barriers", items)
    builds.build(two_models())
    for _ in range(3):
        board = builds.build(records)
        assert len(board.problems) == 1
        assert f"results/{A.id}/barriers" in board.problems[0]
        assert numbers(board) == numbers(anew(records))


def test_a_table_without_a_stamp_is_not_kept(builds: Builds) -> None:
    """A file that was written a moment ago may change again and keep its stamp."""
    records = two_models()
    for _ in range(2):
        cache = IntervalCache(CacheFile(builds.path, "1"))
        board = build_leaderboard(SUITE, records.models, records.results, records.items, cache=cache)
        cache.close()
        assert numbers(board) == numbers(anew(records))
    assert CacheFile(builds.path, "1").read(["intervals/"])
    builds.build(records)
    assert len(builds.loaded_for_intervals) == 8


def test_entries_that_are_not_used_are_removed(builds: Builds) -> None:
    def n_entries() -> int:
        return len(CacheFile(builds.path, "1").read(["intervals/"]))

    builds.build(two_models())
    n = n_entries()
    builds.build(ranked_more())
    assert n_entries() > n
    builds.build(two_models())
    assert n_entries() == n

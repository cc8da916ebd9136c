"""A site whose intervals come from the cache of the build before is the same, byte for byte, as one without a cache."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from judge.publishing.site_files import build_site
from judge.records.cache_file import CacheFile
from judge.records.decisions import EventKind, record_event
from judge.records.items_file import items_path, pack_items
from judge.records.records import Result
from judge.records.signing import SigningKey
from submissions.records import Submission
from submissions.store.local import LocalStore
from tasks.metrics.measurement import Items
from tests.world.board_records import SUITE, frames_metrics, good_results, items_of, result, save, submission

A, B, C, D = (submission(name) for name in ("alpha", "beta", "gamma", "delta"))
TASKS = {task.name: task for task in SUITE.tasks}


def save_with_items(store: LocalStore, model: Submission, results: list[Result], prefix: str = "cluster") -> None:
    """Stores a model's results with items in five clusters each."""
    save(store, [model], results)
    for each in results:
        items = items_of(each, n_clusters=5)
        if each.kind != "nve":
            items = replace(items, cluster=[name.replace("cluster", prefix) for name in items.cluster])
        put_items(store, each, items)


def put_items(store: LocalStore, result: Result, items: Items) -> None:
    store.put(items_path(result.submission, result.task, result.result_key), pack_items(items))


def site(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("**/*") if path.is_file()}


def test_each_site_of_a_growing_store_is_the_same_with_and_without_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("submissions.store.local.GRANULARITY_NS", 0)
    store, cache = LocalStore(tmp_path / "store"), CacheFile(tmp_path / "intervals.sqlite", "1")
    key = SigningKey.create(tmp_path / "signing.key")
    results = {model.id: good_results(model, error) for model, error in ((A, 0.2), (B, 0.25), (C, 0.22), (D, 0.4))}
    other_labels = result(D, TASKS["crystals"], frames_metrics(0.4), label_set="wB97M-V")

    def changed_items() -> None:
        table = items_of(results[A.id][0])
        put_items(store, results[A.id][0], replace(table, cluster=[f"cluster {i // 2}" for i in range(len(table))]))

    changes = {
        "nothing": lambda: None,
        "a result more, not ranked": lambda: save_with_items(store, C, results[C.id][:1]),
        "a ranked model more, with clusters of its own": lambda: save_with_items(store, C, results[C.id], "other"),
        "a model with another label set": lambda: save_with_items(store, D, [other_labels, *results[D.id][1:]]),
        "other items": changed_items,
        "items that cannot be read": lambda: store.put(
            items_path(A.id, "barriers", results[A.id][2].result_key), b"broken"
        ),
        "a submission less": lambda: record_event(store, key, EventKind.WITHDRAWN, B.id, "No longer needed."),
    }
    for model in (A, B):
        save_with_items(store, model, results[model.id])
    sites: list[dict[str, bytes]] = []
    build_site(store, SUITE, tmp_path / "cached", cache=cache)
    assert len(cache.read(["intervals/"])) > 10
    for number, (name, change) in enumerate(changes.items()):
        change()
        lines: tuple[list[str], list[str], list[str]] = ([], [], [])
        build_site(store, SUITE, tmp_path / "cached", lines[0].append, cache=cache)
        build_site(store, SUITE, tmp_path / "cached", lines[1].append, cache=cache)
        build_site(store, SUITE, tmp_path / f"anew {number}", lines[2].append)
        sites.append(site(tmp_path / "cached"))
        assert sites[-1] == site(tmp_path / f"anew {number}"), name
        assert lines[0] == lines[1] == lines[2], name
        assert len(lines[0]) == (1 if number >= 5 else 0), name
    assert all(before != after for before, after in pairwise(sites))

"""The items of a store are read when a page uses them, and other items draw the page of their model again."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.publishing.folder import as_written
from judge.publishing.site_files import build_site, site_files
from judge.publishing.site_sources import with_stored
from judge.ranking.load import read_board
from judge.records.items_file import items_path, pack_items
from judge.view.earlier_pages import EarlierPages
from judge.view.sources import Sources
from submissions.store.local import LocalStore
from tasks.metrics.measurement import Items
from tests.world import curves
from tests.world.board_records import save, submission

MODELS = [submission("first"), submission("second")]
RESULTS = {model.id: curves.results_of(model, 0.2) for model in MODELS}
SOURCES = Sources(public=curves.PUBLIC)
KNOWN = MODELS[0].id, "known"
KEY = next(items_path(r.submission, r.task, r.result_key) for r in RESULTS[MODELS[0].id] if r.task == "known")


class Reads(LocalStore):
    """A local store that remembers which keys were read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.keys: list[str] = []

    def get(self, key: str) -> bytes:
        self.keys.append(key)
        return super().get(key)


def drifts(seed: int) -> Items:
    return curves.dynamics(curves.drifting(6, seed))


@pytest.fixture
def store(tmp_path: Path) -> Reads:
    """A store with two models that have curves of a public data set."""
    store = Reads(tmp_path / "store")
    save(store, MODELS, [each for results in RESULTS.values() for each in results])
    for results in RESULTS.values():
        for each in results:
            if each.task == "known":
                store.put(items_path(each.submission, each.task, each.result_key), pack_items(drifts(0)))
    return store


def test_items_are_read_once_and_only_if_used(store: Reads) -> None:
    sources = with_stored(SOURCES, store, read_board(store, curves.SUITE, lambda line: None))
    store.keys.clear()
    tables = [sources.items[KNOWN] for _ in range(2)]
    assert [table.columns.keys() for table in tables] == [drifts(0).columns.keys()] * 2
    assert store.keys == [KEY]


def test_items_that_are_broken_or_missing_are_not_there(store: Reads) -> None:
    store.put(KEY, b"broken")
    board = read_board(store, curves.SUITE, lambda line: None)
    items = with_stored(SOURCES, store, board).items
    others = set(items)
    assert (items.get(KNOWN), KNOWN in others, (MODELS[1].id, "known") in others) == (None, False, True)
    store.delete(KEY)
    assert set(with_stored(SOURCES, store, board).items) == others


@pytest.mark.parametrize("settled", [True, False])
def test_other_items_draw_the_page_of_their_model_again(
    store: Reads, tmp_path: Path, settled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the stamps of the items are used, or, since they were changed a moment ago, the items themselves."""
    monkeypatch.setattr("submissions.store.local.GRANULARITY_NS", 0 if settled else 10**15)

    def files(earlier: EarlierPages | None) -> dict[str, bytes]:
        return site_files(store, read_board(store, curves.SUITE, lambda line: None), SOURCES, earlier)

    remembered = EarlierPages()
    build_site(store, curves.SUITE, tmp_path / "site", sources=SOURCES, earlier=remembered)
    for data in (pack_items(drifts(1)), b"broken"):
        before = as_written(tmp_path / "site")
        store.put(KEY, data)
        again = EarlierPages(remembered.drawn, before)
        fresh = files(None)
        assert files(again) == fresh
        pages = [f"submissions/{model.id}.html" for model in MODELS]
        assert [again.drawn[page] == remembered.drawn[page] for page in pages] == [False, True]
        assert [before(page) == fresh[page] for page in pages] == [False, True]

"""Runs and curves on the page of a task: of the first models of its ranking, whose items alone are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.disclosure.public_leaderboard import public_board
from judge.figures.chosen_models import MOST_MODELS
from judge.figures.figure import N_COLOURS
from judge.pages.tasks.task_pages import pages
from judge.publishing.site_files import site_files
from judge.publishing.site_sources import with_stored
from judge.ranking.load import read_board
from judge.records.items_file import items_path, pack_items
from judge.view.page_context import frame
from judge.view.sources import Sources
from submissions.store.local import LocalStore
from tasks.kinds.registry import KINDS
from tests.world import swings
from tests.world.board_records import save

N_MODELS = MOST_MODELS + 3
SOURCES = Sources(public=swings.PUBLIC)


class CountedReads(LocalStore):
    """A local store that remembers which items tables were read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.tables: list[str] = []

    def get(self, key: str) -> bytes:
        if key.endswith(".items.safetensors"):
            self.tables.append(key)
        return super().get(key)


@pytest.fixture(autouse=True, scope="module")
def with_swings() -> Iterator[None]:
    with KINDS.also(swings.Swings()):
        yield


@pytest.fixture
def store(tmp_path: Path) -> CountedReads:
    """Pendulums of more models than a task's page draws."""
    store = CountedReads(tmp_path / "store")
    board = swings.pendulum_board(N_MODELS)
    for row in board.rows:
        results = [line.result for line in row.tasks if line.result is not None]
        save(store, [row.submission], results)
        for each in results:
            table = pack_items(swings.swings(6, n_broken=1))
            store.put(items_path(each.submission, each.task, each.result_key), table)
    return store


def names_in(text: str) -> list[str]:
    """The names of the models in a text, each once, in their order."""
    return list(dict.fromkeys(re.findall(r"model [a-z]\b", text)))


def test_the_first_models_of_the_ranking_are_drawn_and_only_their_items_are_read(store: CountedReads) -> None:
    board = read_board(store, swings.SUITE, lambda line: None)
    store.tables.clear()
    files = pages(frame(public_board(board, swings.PUBLIC), with_stored(SOURCES, store, board)))
    assert len(store.tables) == len(set(store.tables)) == 2 * MOST_MODELS
    page = files["tasks/known.html"].decode()
    ranking, runs = page.split('id="runs-title"')
    ranked = names_in(ranking.split('id="ranking-title"')[1])
    assert len(ranked) == N_MODELS
    assert names_in(runs.split("</section>")[0]) == ranked[:MOST_MODELS]
    assert f"The first {N_COLOURS} models of the ranking above that have items." in runs
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {"progress", "profile-angle"} <= set(ids)


def test_a_hidden_task_shows_no_item(store: CountedReads) -> None:
    board = read_board(store, swings.SUITE, lambda line: None)
    files = pages(frame(public_board(board, swings.PUBLIC), with_stored(SOURCES, store, board)))
    known, secret = (files[f"tasks/{name}.html"].decode() for name in ("known", "secret"))
    assert ("pendulum 3" in known, "pendulum 3" in secret) == (True, False)
    assert "mean over the items" in secret
    assert f"5 to the end, 1 {swings.BROKEN}" in secret


def test_other_items_change_the_page(store: CountedReads) -> None:
    def page() -> bytes:
        return site_files(store, read_board(store, swings.SUITE, lambda line: None), SOURCES)["tasks/known.html"]

    before = page()
    assert page() == before
    row = read_board(store, swings.SUITE, lambda line: None).rows[0]
    (result,) = (line.result for line in row.tasks if line.task.name == "known")
    assert result is not None
    store.put(
        items_path(result.submission, result.task, result.result_key), pack_items(swings.swings(6, seed=1, n_broken=2))
    )
    after = page()
    assert after != before
    store.delete(items_path(result.submission, result.task, result.result_key))
    assert page() not in (before, after)


def test_a_task_without_items_has_no_such_part() -> None:
    board = swings.pendulum_board()
    files = pages(swings.pendulum_frame(board, {}))
    assert all(b"runs-title" not in page for page in files.values())

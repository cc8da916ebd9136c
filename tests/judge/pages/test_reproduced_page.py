"""Published numbers beside judged ones: which are shown, whether they agree, and what a reader sees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from judge.disclosure.public_reproductions import Reproduction, reproductions
from judge.pages.site import render
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import read_board
from judge.view.sources import Sources
from submissions.store.local import LocalStore
from tasks.metrics.measurement import Items
from tasks.suites.published_numbers import PublishedPart, published_numbers
from tasks.suites.suite import SuiteError, read_suite
from tests.judge.pages.page_reader import PageReader
from tests.world.board_records import ENERGY, SUITE, error, result, save, submission

CRYSTALS = SUITE.tasks[0]
STATED = {
    "model": "alpha",
    "source": "A paper, table 2",
    "why": "Another mesh.",
    "units": {"kappa": "W/(m K)"},
    "metrics": {CRYSTALS.name: {ENERGY: 0.5}},
    "items": {CRYSTALS.name: {"RbI": {"kappa": 0.4371}, "KBr": {"kappa": 0.5258}, "LiF": {"kappa": 1.0}}},
}
ITEMS = Items(
    ["RbI", "KBr", "LiF"],
    [""] * 3,
    ["RbI", "KBr", "LiF"],
    np.zeros(3, np.int8),
    {"kappa": np.array([0.44, 0.6, np.nan])},
)
ALPHA, BETA = submission("alpha"), submission("beta")
TABLES = {(ALPHA.id, CRYSTALS.name): ITEMS}
PUBLIC = {CRYSTALS.dataset}


def part(**changes: Any) -> PublishedPart:
    return PublishedPart.model_validate({**STATED, **changes})


def board_of(store: LocalStore, *parts: PublishedPart) -> Leaderboard:
    suite = replace(SUITE, published=tuple(published_numbers(parts)))
    save(store, [ALPHA, BETA], [result(each, CRYSTALS, {ENERGY: error(0.504)}) for each in (ALPHA, BETA)])
    return read_board(store, suite, pytest.fail)


def of(board: Leaderboard, public: set[str] = PUBLIC) -> list[Reproduction]:
    return list(reproductions(board, TABLES, public))


def test_each_number_stands_beside_ours(store: LocalStore) -> None:
    """0.504 is 0.8 % above 0.5, 0.44 is 0.66 % above 0.4371, 0.6 is 14 % above 0.5258; LiF gave no number."""
    board = board_of(store, part())
    value = board.rows[0].tasks[0].result.metrics[ENERGY].value  # type: ignore[union-attr]
    metric, rbi, kbr, lif = of(board)
    assert (metric.ours, metric.unit, metric.row.submission.id) == (value, "eV/atom", ALPHA.id)
    assert (rbi.ours, rbi.unit, rbi.agrees) == (0.44, "W/(m K)", True)
    assert rbi.relative == pytest.approx((0.44 - 0.4371) / 0.4371)
    assert (kbr.ours, kbr.agrees) == (0.6, False)
    assert (lif.ours, lif.agrees, lif.relative) == (None, None, None)


def test_the_share_within_which_a_number_agrees_is_stated(store: LocalStore) -> None:
    assert [line.agrees for line in of(board_of(store, part(within=0.2)))][1:] == [True, True, None]
    assert [line.agrees for line in of(board_of(store, part(within=0.001)))][1:] == [False, False, None]


def test_a_number_belongs_to_submissions_of_its_name_and_version(store: LocalStore) -> None:
    assert len(of(board_of(store, part(version=ALPHA.card.version)))) == 4
    assert of(board_of(store, part(version="another"))) == []
    assert {line.row.submission.id for line in of(board_of(store, part(model="beta")))} == {BETA.id}
    assert of(board_of(store, part(model="gamma"))) == []


def test_numbers_of_hidden_data_sets_are_not_shown(store: LocalStore) -> None:
    assert of(board_of(store, part()), public=set()) == []


def test_a_column_or_item_that_is_not_there_is_not_measured(store: LocalStore) -> None:
    items = {CRYSTALS.name: {"RbI": {"srme": 1.2}, "NaCl": {"kappa": 1.0}}}
    assert [line.ours for line in of(board_of(store, part(metrics={}, items=items)))] == [None, None]


def test_the_page_shows_them_and_is_there_only_with_numbers(store: LocalStore) -> None:
    sources = Sources(items=TABLES, public=frozenset(PUBLIC))
    pages = render(board_of(store, part()), sources)
    text = PageReader(pages["reproduced.html"]).words
    assert "Of 4 numbers, 2 agree and 1 do not; 1 are not measured yet." in text
    for words in (
        "0.44000 W/(m K)",
        "0.43710 W/(m K)",
        "+0.66 %",
        "agrees within 1.0 %",
        "does not agree",
        "Another mesh.",
    ):
        assert words in text, words
    assert b'href="reproduced.html"' in pages["index.html"]
    without = render(board_of(store), sources)
    assert "reproduced.html" not in without
    assert b"reproduced.html" not in without["index.html"]
    hidden = render(board_of(store, part()), Sources(items=TABLES))
    assert (
        "no model of these names was judged, or its data sets are hidden" in PageReader(hidden["reproduced.html"]).words
    )


SUITE_TEXT = """
name = "mine"
version = "1"
title = "Mine"
[[tasks]]
name = "barriers"
kind = "energy_differences"
dataset = "barriers@1"
domain = "Molecules"
time_limit_s = 60
[[published]]
model = "CHGNet"
source = "A paper"
"""


def test_a_suite_states_them_in_toml() -> None:
    text = SUITE_TEXT + "within = 0.02\n[published.metrics]\nbarriers = { mae = 0.5 }\n"
    text += '[published.items.barriers]\n"01" = { error = 0.1, abs = -2.0 }\n'
    numbers = read_suite(text, "mine.toml").published
    assert [(n.task, n.item, n.name, n.value) for n in numbers] == [
        ("barriers", "", "mae", 0.5),
        ("barriers", "01", "error", 0.1),
        ("barriers", "01", "abs", -2.0),
    ]
    assert numbers[2].agrees(-2.039)
    assert not numbers[2].agrees(-2.05)


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("", "mine.toml: published.0: has no number: state metrics or items"),
        (
            "[published.metrics]\ncrystals = { mae = 1 }",
            "mine.toml: published.0: there is no task 'crystals' in the suite",
        ),
        ("[published.metrics]\nbarriers = { mae = nan }", "published.0.metrics.barriers.mae: must be finite, not nan"),
        ("[published.metrics]\nbarriers = { }", "published.0.metrics.barriers"),
        ("within = 0", "published.0.within: must be greater than 0"),
        ("digits = 3", "published.0.digits"),
    ],
)
def test_a_published_number_that_cannot_be_is_refused_in_one_line(added: str, message: str) -> None:
    with pytest.raises(SuiteError) as raised:
        read_suite(SUITE_TEXT + added, "mine.toml")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)

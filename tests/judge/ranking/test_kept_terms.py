"""Terms come back from plain data as they were, with every digit."""

from __future__ import annotations

import json

import pytest

from judge.ranking.leaderboard import Row
from scoring.packed_terms import Form, packed
from tests.judge.pages.page_reader import page_frame
from tests.world.board_records import SUITE, good_results, submission


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Three models: one has failed items, and one has results of some tasks alone."""
    models = [submission(name) for name in ("alpha", "beta", "gamma")]
    failed = [each.model_copy(update={"failures": {"not finite": 2}}) for each in good_results(models[1], 0.3)]
    results = [*good_results(models[0], 0.1), *failed, *good_results(models[2], 0.2)[:2]]
    return list(page_frame(SUITE, models, results).board.rows)


def test_every_term_comes_back_as_it_was(rows: list[Row]) -> None:
    terms = [term for row in rows for scores in (row.scores, row.as_published) for term in scores.values()]
    assert len(terms) > 10
    for term in terms:
        form, numbers = (json.loads(json.dumps(part)) for part in packed(term))
        back = Form(form).term(numbers)
        assert repr(back.node) == repr(term.node)
        assert repr(_plain(back)) == repr(_plain(term))


def _plain(term: object) -> object:
    """The numbers of a term and of all its parts."""
    names = ("value", "covered", "total", "share", "counted", "at_worst", "at_best")
    return [*(getattr(term, name) for name in names), *map(_plain, term.parts)]  # type: ignore[attr-defined]


def test_models_with_the_same_tasks_share_a_form(rows: list[Row]) -> None:
    first, second = (packed(row.scores["force_field"])[0] for row in rows[:2])
    assert json.dumps(first) == json.dumps(second)

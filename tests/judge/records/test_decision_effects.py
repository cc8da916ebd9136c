"""The effects of a decision: on the results that count, the ranking and the pages."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from judge.evaluation.plan import Step
from judge.evaluation.request import Request
from judge.evaluation.unit_report import Did
from judge.evaluation.work_plan import plan_work
from judge.publishing.site_files import build_site
from judge.ranking.build import build_leaderboard
from judge.ranking.load import read_board
from judge.records.decisions import EventKind, RoundRecord, record_event
from judge.records.results import load_results
from judge.records.signing import SigningKey, trusted_keys
from submissions.progress import Reporter
from submissions.store.interface import StoreError
from submissions.store.local import LocalStore
from tests.judge.records.decision_events import KEY, a_round
from tests.world.board_records import SUITE, good_results, items_of, save, submission
from tests.world.world import World


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


def test_only_results_of_the_round_that_counts_count(store: LocalStore) -> None:
    model = submission("model")
    old = good_results(model, 0.5)
    first = old[0]
    new = first.model_copy(update={"round": 1, "result_key": "f" * 32, "observation_key": "e" * 32, "n_items": 99})
    save(store, [model], [*old, new])
    assert load_results(store, [model.id]) == sorted(old, key=lambda r: r.task)
    rounds = (RoundRecord(task=first.task, dataset=first.provenance.dataset, round=1),)
    record_event(store, KEY, EventKind.APPLIED, model.id, "why", rounds=rounds)
    counting = load_results(store, [model.id])
    assert [r for r in counting if r.task == first.task] == [new]
    assert [r for r in counting if r.task != first.task] == sorted(old[1:], key=lambda r: r.task)
    with pytest.raises(StoreError, match="not trusted"):
        load_results(store, [model.id], trusted=())


def test_a_round_of_one_suite_leaves_a_task_of_the_same_name_in_another_alone(store: LocalStore) -> None:
    model = submission("model")
    old = good_results(model, 0.5)
    save(store, [model], old)
    rounds = (RoundRecord(task=old[0].task, dataset="another@1", round=1),)
    record_event(store, KEY, EventKind.APPLIED, model.id, "why", rounds=rounds)
    assert len(load_results(store, [model.id])) == len(old)


def test_who_was_taken_out_has_no_row_and_leaves_the_others_rank(store: LocalStore) -> None:
    best, other, third = submission("best"), submission("other"), submission("third")
    results = [*good_results(best, 0.1), *good_results(other, 0.5), *good_results(third, 0.9)]
    save(store, [best, other, third], results)
    board = read_board(store, SUITE, pytest.fail)
    assert [(row.submission.id, row.rank) for row in board.rows] == [(best.id, 1), (other.id, 2), (third.id, 3)]
    record_event(store, KEY, EventKind.DISQUALIFIED, best.id, "trained on the test set")
    record_event(store, KEY, EventKind.WITHDRAWN, third.id, "a mistake")
    board = read_board(store, SUITE, pytest.fail)
    assert [(row.submission.id, row.rank) for row in board.rows] == [(other.id, 1)]
    assert [(removed.submission.id, removed.word) for removed in board.taken_out] == [
        (third.id, "withdrawn"),
        (best.id, "disqualified"),
    ]
    alone = build_leaderboard(SUITE, [other], good_results(other, 0.5), items_of)
    assert board.rows[0].scores == alone.rows[0].scores


def test_a_broken_event_leaves_its_row_out_and_says_so(store: LocalStore) -> None:
    model, other = submission("model"), submission("other")
    save(store, [model, other], [*good_results(model, 0.1), *good_results(other, 0.5)])
    store.put(f"submissions/{model.id}/events/x.json", b"{")
    problems: list[str] = []
    board = read_board(store, SUITE, problems.append)
    assert [row.submission.id for row in board.rows] == [other.id]
    assert len(problems) == 1
    assert "events/x.json" in problems[0]


def test_the_page_lists_who_was_taken_out_with_the_reason_as_text(store: LocalStore, tmp_path: Path) -> None:
    model, other = submission("model"), submission("other")
    save(store, [model, other], [*good_results(model, 0.1), *good_results(other, 0.5)])
    site = tmp_path / "site"
    build_site(store, SUITE, site, pytest.fail)
    assert "taken-out" not in (site / "index.html").read_text()
    assert (site / "submissions" / f"{model.id}.html").exists()
    made = record_event(store, KEY, EventKind.WITHDRAWN, model.id, "<script>alert(1)</script> & more")
    build_site(store, SUITE, site, pytest.fail)
    page = (site / "index.html").read_text()
    section = page.partition('id="taken-out"')[2].partition("</section>")[0]
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in section
    assert "<script>alert" not in page
    assert f"Withdrawn, {made.time.day} {made.time:%B %Y, %H:%M} UTC" in section
    assert model.card.name in section
    assert not (site / "submissions" / f"{model.id}.html").exists()
    record_event(store, KEY, EventKind.WITHDRAWN, other.id, "too")
    build_site(store, SUITE, site, pytest.fail)
    assert "There is no submission yet" not in (site / "index.html").read_text()


def test_a_plan_is_made_of_units_of_the_round_that_counts(world: World) -> None:
    model = world.submit("emt")
    world.evaluate()
    (trusted,) = trusted_keys(world.settings)
    key = SigningKey.load(world.settings.key_file)
    assert key.public == trusted
    record_event(world.store, key, EventKind.APPLIED, model.id, "why", rounds=(a_round(1),))
    plan = plan_work(world.workspace, Request(), Reporter(Console(file=StringIO()))).plan
    assert [(planned.unit.task.name, planned.unit.round, planned.step) for planned in plan] == [
        ("copper", 1, Step.OBSERVE),
        ("nickel", 0, Step.DONE),
    ]
    summary, _ = world.evaluate()
    assert [unit.did for unit in summary.units] == [Did.OBSERVED, Did.NOTHING]
    assert [(result.task, result.round) for result in world.results()] == [("copper", 1), ("nickel", 0)]
    summary, _ = world.evaluate()
    assert [unit.did for unit in summary.units] == [Did.NOTHING] * 2

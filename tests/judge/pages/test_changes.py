"""What moved from one publication to the next: each kind of change, and its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from judge.disclosure.published_scores import published_scores
from judge.pages.changes import Changes, Move, MoveKind, changes
from judge.records.decisions import DecisionEvent, EventKind, decisions_from
from sandbox.verdict import Verdict
from submissions.records import Submission
from tests.judge.pages.publications import KEY, TASKS, A, B, C, anew, board, manifest, moved
from tests.world.board_records import NOON, SUITE, good_results, result, task


def reasons_of(move: Move) -> list[str]:
    return [" ".join((reason.words, ", ".join(reason.names))).strip() for reason in move.why]


def by_name(listed: Changes) -> Mapping[str, Move]:
    return {move.name: move for move in listed.moves}


def test_new_models_push_others_down() -> None:
    of_a, of_b, of_c = good_results(A, 0.3), good_results(B, 0.2), good_results(C, 0.1)
    listed = moved(board(of_a, A), board(of_a + of_b + of_c, A, B, C))
    assert [(move.name, move.kind, move.after and move.after.rank) for move in listed.moves] == [
        ("gamma", MoveKind.NEW, 1),
        ("beta 2", MoveKind.NEW, 2),
        ("alpha", MoveKind.DOWN, 3),
    ]
    alpha = by_name(listed)["alpha"]
    assert alpha.before is not None
    assert alpha.before.rank == 1
    assert reasons_of(alpha) == ["two new models above"]
    assert listed.why == ()


def test_a_new_measurement_is_named_with_its_task() -> None:
    before = good_results(A, 0.3) + good_results(B, 0.2)
    listed = moved(board(before, A, B), board(anew(before, A, "crystals", 0.01), A, B))
    alpha, beta = by_name(listed)["alpha"], by_name(listed)["beta 2"]
    assert (alpha.kind, reasons_of(alpha)) == (MoveKind.UP, ["measured again: Crystals"])
    assert (beta.kind, reasons_of(beta)) == (MoveKind.DOWN, ["overtaken by alpha"])
    assert alpha.before is not None
    assert alpha.after is not None
    assert alpha.before.force_field == 0.3
    assert alpha.after.force_field == pytest.approx((0.01 + 0.3) / 2, rel=1e-5)


def test_scores_change_without_the_rank() -> None:
    before = good_results(A, 0.3)
    listed = moved(board(before, A), board(anew(before, A, "speed", 0.1), A))
    assert [(move.kind, reasons_of(move)) for move in listed.moves] == [(MoveKind.RESCORED, ["measured again: Speed"])]


def event(model: Submission) -> DecisionEvent:
    time = NOON + timedelta(days=1)
    return DecisionEvent(
        kind=EventKind.DISQUALIFIED, submission=model.id, time=time, who=KEY.public, reason="it cheated"
    )


def test_a_model_is_removed_with_the_public_reason_and_comes_back() -> None:
    both = good_results(A, 0.3) + good_results(B, 0.2)
    with_both = board(both, A, B)
    without = board(both, A, B, decisions_by_id={B.id: decisions_from({"e": event(B)})})
    listed = moved(with_both, without)
    gone = by_name(listed)["beta 2"]
    assert (gone.kind, reasons_of(gone), gone.after) == (MoveKind.REMOVED, ["disqualified: it cheated"], None)
    assert reasons_of(by_name(listed)["alpha"]) == ["one model above removed"]
    again = changes(with_both, [manifest(with_both, 1), manifest(without, 2)], NOON + timedelta(days=3), "1.0")
    assert [publication.first for publication in again] == [False, False, True]
    assert reasons_of(by_name(again[0])["beta 2"]) == ["the model is back"]
    assert reasons_of(by_name(again[1])["beta 2"]) == ["its records are no longer shown"]


def test_a_rank_is_lost_and_won_again() -> None:
    whole = good_results(A, 0.3)
    failed = [result(A, TASKS["crystals"], {}, Verdict.TIME_LIMIT) if r.task == "crystals" else r for r in whole]
    failed = [r.model_copy(update={"result_key": "0" * 64}) if r.task == "crystals" else r for r in failed]
    lost, won = moved(board(whole, A), board(failed, A)), moved(board(failed, A), board(whole, A))
    assert [(move.kind, reasons_of(move)) for move in lost.moves] == [(MoveKind.UNRANKED, ["measured again: Crystals"])]
    assert [(move.kind, reasons_of(move)) for move in won.moves] == [(MoveKind.RANKED, ["measured again: Crystals"])]


def test_a_new_task_and_another_release_are_stated_once_for_all_models() -> None:
    more = replace(SUITE, version="2", tasks=(*SUITE.tasks, task("liquids", "labelled_frames", "Molecules")))
    of_a = good_results(A, 0.3)
    liquid = result(A, more.tasks[-1], good_results(A, 0.9)[1].metrics)
    before, after = board(of_a, A), board([*of_a, liquid], A, suite=more)
    (newest, _) = changes(after, [manifest(before, 1, release="older")], NOON + timedelta(days=2), "1.0")
    assert [(reason.words, reason.names) for reason in newest.why] == [
        ("The scoring release changed from older to corrected", ()),
        ("Judged for the first time:", ("Liquids",)),
    ]
    assert reasons_of(newest.moves[0]) == ["judged for the first time: Liquids"]


def test_scores_change_without_a_changed_result() -> None:
    shown = board(good_results(A, 0.3), A)
    scores = {A.id: published_scores(shown)[A.id].model_copy(update={"force_field": 0.4})}
    for more, judge, why in (
        ({"release": "older"}, "1.0", "new release of the scoring"),
        ({}, "2.0", "new version of the judge: 2.0, before 1.0"),
        ({}, "1.0", "the manifests do not show the reason"),
    ):
        newest = changes(shown, [manifest(shown, 1, scores=scores, **more)], NOON + timedelta(days=2), judge)[0]
        assert [reasons_of(move) for move in newest.moves] == [[why]]


def test_results_of_others_are_named_only_where_they_differ() -> None:
    of_a, of_b = good_results(A, 0.3), good_results(B, 0.2)
    shown = board(of_a + of_b, A, B)
    scores = dict(published_scores(shown))
    scores[A.id] = scores[A.id].model_copy(update={"force_field": 0.4})
    other = manifest(board(of_a + anew(of_b, B, "speed", 0.2), A, B), 1, scores=scores)
    newest = changes(shown, [other], NOON + timedelta(days=2), "1.0")[0]
    why = "its tasks are also scored from the results of other models, which changed"
    assert reasons_of(by_name(newest)["alpha"]) == [why]
    unknown = other.model_copy(update={"results": dict.fromkeys(manifest(shown, 1).results, "")})
    newest = changes(shown, [unknown], NOON + timedelta(days=2), "1.0")[0]
    assert reasons_of(by_name(newest)["alpha"]) == ["the manifests do not show the reason"]


def test_references_have_no_changes() -> None:
    of_a, of_b = good_results(A, 0.3), good_results(B, 0.2)
    alone, beside = board(of_a, A), board(of_a + of_b, A, B, references=["beta"])
    assert [
        publication.first for publication in changes(beside, [manifest(alone, 1)], NOON + timedelta(days=2), "1.0")
    ] == [True]
    was_ranked = moved(board(of_a + of_b, A, B), beside)
    assert reasons_of(by_name(was_ranked)["beta 2"]) == ["now only for comparison, without a rank"]
    assert reasons_of(by_name(was_ranked)["alpha"]) == ["one model above removed"]


def test_a_publication_without_a_change_is_left_out() -> None:
    shown = board(good_results(A, 0.3), A)
    published = [manifest(shown, n) for n in (1, 2, 3)]
    assert len(changes(shown, published, NOON + timedelta(days=4), "1.0")) == 1
    assert len(changes(shown, published, None, "1.0")) == 1

"""Where a submission stands: what follows from events, whose events count, and what a person and a reader see of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from judge.evaluation.current_results import current_results
from judge.evaluation.plan import Step
from judge.evaluation.request import Request
from judge.evaluation.unit_report import Did
from judge.evaluation.work_plan import UsageError, plan_work
from judge.publishing.site_files import build_site
from judge.ranking.build import build_leaderboard
from judge.ranking.load import read_board
from judge.records.attempts import read_histories
from judge.records.decisions import (
    DecisionEvent,
    Decisions,
    EventKind,
    RoundRecord,
    SubmissionTask,
    decisions_from,
    read_decisions,
    record_event,
)
from judge.records.results import load_results
from judge.records.signing import SigningKey, trusted_keys
from submissions.progress import Reporter
from submissions.store.interface import StoreError, check_key
from submissions.store.local import LocalStore
from tasks.suites.suite import load_suite
from tests.world.board_records import NOON, SUITE, good_results, items_of, save, submission
from tests.world.world import World

MODEL = "emt-0123456789ab"
KEY = SigningKey(b"k" * 32)


def event(kind: EventKind, minute: int = 0, reason: str = "why", rounds: tuple[RoundRecord, ...] = ()) -> DecisionEvent:
    time = NOON + timedelta(minutes=minute)
    return DecisionEvent(kind=kind, submission=MODEL, time=time, who=KEY.public, reason=reason, rounds=rounds)


def decisions(kinds: Sequence[EventKind]) -> Decisions:
    return decisions_from({f"e{n}": event(kind, n) for n, kind in enumerate(kinds)})


def a_round(number: int, task: str = "copper") -> RoundRecord:
    return RoundRecord(task=task, dataset=f"{task}@1", round=number)


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


KINDS = st.lists(st.sampled_from(list(EventKind)), max_size=8)


@given(KINDS)
def test_who_is_reinstated_last_is_in_the_ranking_and_who_is_out_stays_out(kinds: list[EventKind]) -> None:
    assert decisions([*kinds, EventKind.REINSTATED]).removal is None
    out = decisions([*kinds, EventKind.DISQUALIFIED, EventKind.WITHDRAWN, EventKind.APPLIED]).removal
    assert out is not None
    assert out.kind is EventKind.DISQUALIFIED


@given(KINDS.flatmap(lambda kinds: st.permutations(list(enumerate(kinds)))))
def test_the_order_of_events_is_that_of_their_times_however_they_are_listed(kinds: list[tuple[int, EventKind]]) -> None:
    listed = {f"e{n}": event(kind, n, reason=f"{n}") for n, kind in kinds}
    assert decisions_from(listed) == decisions_from(dict(sorted(listed.items())))


def test_events_of_one_time_are_ordered_by_their_keys() -> None:
    out, back = event(EventKind.WITHDRAWN), event(EventKind.REINSTATED)
    assert decisions_from({"a": out, "b": back}).removal is None
    assert decisions_from({"b": out, "a": back}).removal == out


def test_the_round_applied_last_counts_for_each_task_on_its_own() -> None:
    first = event(EventKind.APPLIED, 1, rounds=(a_round(1), a_round(1, "nickel")))
    second = event(EventKind.APPLIED, 2, rounds=(a_round(2),))
    assert decisions_from({"b": second, "a": first}).rounds == {
        SubmissionTask(MODEL, "copper", "copper@1"): 2,
        SubmissionTask(MODEL, "nickel", "nickel@1"): 1,
    }


def test_an_event_is_stored_signed_under_a_key_that_every_store_takes(store: LocalStore) -> None:
    made = record_event(store, KEY, EventKind.APPLIED, MODEL, "a better GPU", rounds=(a_round(1),))
    (key,) = store.list("submissions/")
    assert check_key(key) == key
    assert key.startswith(f"submissions/{MODEL}/events/2")
    assert "-applied-" in key
    assert DecisionEvent.read(store.get(key)) == made
    assert made.who == KEY.public
    assert read_decisions(store, MODEL, {KEY.public}).rounds == {SubmissionTask(MODEL, "copper", "copper@1"): 1}


def test_an_event_is_later_than_the_one_before_whatever_the_clock_says(store: LocalStore) -> None:
    first = record_event(store, KEY, EventKind.WITHDRAWN, MODEL, "w")
    ahead = first.time + timedelta(days=1)
    second = record_event(store, KEY, EventKind.REINSTATED, MODEL, "r", after=ahead)
    assert second.time > ahead
    third = record_event(store, KEY, EventKind.WITHDRAWN, MODEL, "w", after=read_decisions(store, MODEL).last_time)
    assert read_decisions(store, MODEL).removal == third


def tampered(store: LocalStore, change: dict[str, object]) -> str:
    """The key of a withdrawal of which something was changed after it was signed."""
    record_event(store, KEY, EventKind.WITHDRAWN, MODEL, "why")
    (key,) = store.list("submissions/")
    store.put(key, json.dumps({**json.loads(store.get(key)), **change}).encode())
    return key


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "reinstated"}, "changed after it was signed"),
        ({"reason": "another"}, "changed after it was signed"),
        ({"signature": None}, "not signed"),
        ({"schema_version": 2}, "schema_version"),
        ({"kind": "forgiven"}, "kind"),
        ({"more": 1}, "more"),
    ],
)
def test_an_event_that_was_changed_is_named_in_one_line(
    store: LocalStore, change: dict[str, object], said: str
) -> None:
    key = tampered(store, change)
    for trusted in ({KEY.public}, None):
        with pytest.raises(StoreError, match=said) as raised:
            read_decisions(store, MODEL, trusted)
        assert key in raised.value.remedy
        assert "\n" not in raised.value.remedy


def test_an_event_counts_only_from_a_trusted_key_and_only_for_its_own_submission(store: LocalStore) -> None:
    record_event(store, SigningKey(b"s" * 32), EventKind.REINSTATED, MODEL, "by a stranger")
    with pytest.raises(StoreError, match="not trusted: judge keys trust"):
        read_decisions(store, MODEL, {KEY.public})
    (key,) = store.list("submissions/")
    store.put(key.replace(MODEL, "other-0123456789ab"), store.get(key))
    with pytest.raises(StoreError, match="is not about other-0123456789ab"):
        read_decisions(store, "other-0123456789ab")


def test_a_broken_event_is_named(store: LocalStore) -> None:
    key = f"submissions/{MODEL}/events/x.json"
    store.put(key, b"{")
    with pytest.raises(StoreError, match=key):
        read_decisions(store, MODEL)


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
    assert [(one.submission.id, one.word) for one in board.taken_out] == [
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
    assert "Nothing has been submitted yet" not in (site / "index.html").read_text()


def test_who_was_taken_out_is_not_judged_any_more_until_reinstated(world: World) -> None:
    world.write_settings()
    model = world.submit("emt")
    status, out, _ = world.run_here("withdraw", model.id, "--reason", "  a mistake\n in it ")
    assert status == 0
    assert f"{model.id}: withdrawn on 2" in out
    assert out.splitlines()[0].endswith(": a mistake in it")
    summary, said = world.evaluate()
    assert summary.units == ()
    assert f"{model.id} was withdrawn on" in said
    assert summary.skipped
    with pytest.raises(UsageError, match=rf"{model.id} was withdrawn on .*: a mistake in it \(judge reinstate"):
        world.evaluate(ids=(model.id,))
    assert read_histories(world.store, [model.id]) == {}
    assert world.run_here("reinstate", model.id, "--reason", "corrected")[0] == 0
    summary, _ = world.evaluate()
    assert [unit.did for unit in summary.units] == [Did.OBSERVED] * 2


def test_a_person_reads_in_list_and_show_who_was_taken_out(world: World) -> None:
    world.write_settings()
    model = world.submit("emt")
    assert json.loads(world.run_here("list", "--json")[1])[0]["decision"] == ""
    world.run_here("disqualify", model.id, "--reason", "[bold]trained[/] on the test set")
    _, listed = world.run_json_here("list")
    assert isinstance(listed, list)
    assert listed[0]["decision"].startswith("disqualified on 2")
    _, shown = world.run_json_here("show", model.id)
    assert isinstance(shown, dict)
    assert shown["decision"].endswith(": [bold]trained[/] on the test set")
    assert "Disqualified on 2" in world.run_here("show", model.id)[1]
    assert "[bold]trained[/]" in " ".join(world.run_here("show", model.id)[1].split())


def test_what_cannot_be_decided_is_one_line(world: World) -> None:
    world.write_settings()
    model = world.submit("emt").id
    why = ("--reason", "why")
    cases: list[tuple[tuple[str, ...], str]] = [
        (("withdraw", "nobody", *why), "there is no submission 'nobody'"),
        (("withdraw", model), "say why"),
        (("withdraw", model, "--reason", " \n "), "say why"),
        (("disqualify", model, "--reason", "w" * 501), "501 characters; 500 are allowed"),
        (("reinstate", model, *why), "nothing to reinstate"),
    ]
    for command, said in cases:
        status, _, err = world.run_here(*command)
        assert (status, err.count("\n")) == (2, 1), command
        assert said in err
    assert list(world.store.list(f"submissions/{model}/events/")) == []


def test_twice_the_same_is_refused_and_a_disqualification_is_not_softened(world: World) -> None:
    world.write_settings()
    model, why = world.submit("emt").id, ("--reason", "why")
    assert world.run_here("withdraw", model, *why)[0] == 0
    status, _, err = world.run_here("withdraw", model, *why)
    assert status == 2
    assert f"{model} was withdrawn on" in err
    assert world.run_here("disqualify", model, *why)[0] == 0
    for command in ("withdraw", "disqualify"):
        status, _, err = world.run_here(command, model, *why)
        assert (status, err.count("\n")) == (2, 1)
        assert f"{model} was disqualified on" in err
    assert len(list(world.store.list(f"submissions/{model}/events/"))) == 2
    lines = (world.root / "judge.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in lines if "event recorded" in line]
    assert [line["sentence"] for line in told] == ["withdrawn", "disqualified"]


def test_a_strangers_event_keeps_every_command_from_trusting_the_store(world: World) -> None:
    world.write_settings()
    model = world.submit("emt")
    world.evaluate()
    record_event(world.store, SigningKey(b"s" * 32), EventKind.APPLIED, model.id, "mine counts", rounds=(a_round(1),))
    for command in (("list",), ("show", model.id), ("evaluate", "--all"), ("score", "suite")):
        status, _, err = world.run_here(*command)
        assert status == 3, command
        assert "not trusted" in err
    status, _, err = world.run_here("site", "build")  # which leaves out what it cannot trust, and says so
    assert status == 1
    assert "not trusted" in err
    assert not (world.root / "site" / "submissions" / f"{model.id}.html").exists()
    with pytest.raises(StoreError, match="not trusted"):
        current_results(world.workspace, load_suite(world.settings.suite))


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

"""Applying new results with a reason: which results then count, and which cannot be applied."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from rich.console import Console

from judge.evaluation.rejudge import apply, judged_anew, rejudge
from judge.evaluation.request import Request
from judge.evaluation.work_plan import plan_work
from judge.records.decisions import SubmissionTask
from judge.records.records import Claim, End
from sandbox.verdict import FaultCause, Verdict
from submissions.progress import Reporter
from submissions.records import Submission, utc_now
from tests.judge.evaluation.moody import force_rmse, rejudged, snapshot
from tests.world.small_data import save_frames
from tests.world.world import World


@pytest.fixture
def world(moody_world: World) -> World:
    return moody_world


def test_applied_the_new_results_count_and_the_old_ones_stay(world: World, moody: Submission) -> None:
    old = world.results()
    (world.root / "mood").write_text("0.25")
    assert rejudged(world, moody.id, "--task", "copper")[0] == 0
    kept = snapshot(world)
    (world.root / "mood").write_text("7")  # nobody asks the model again
    status, out, _ = world.run_here("rejudge", moody.id, "--task", "copper", "--apply", "--reason", "a corrected GPU")
    assert status == 0
    assert "The new results count from now on" in out
    assert force_rmse(world.results(), "copper") == pytest.approx(0.25, rel=1e-6)
    assert [r for r in world.results() if r.task == "nickel"] == [r for r in old if r.task == "nickel"]
    after = snapshot(world)
    assert {key: after[key] for key in kept} == kept
    (event,) = (json.loads(after[key]) for key in after.keys() - kept.keys())
    assert (event["kind"], event["reason"]) == ("applied", "a corrected GPU")
    assert event["rounds"] == [{"task": "copper", "dataset": "copper@1", "round": 1}]
    summary, _ = world.evaluate()
    assert {unit.did for unit in summary.units} == {"nothing"}
    events = [json.loads(line) for line in (world.root / "judge.jsonl").read_text().splitlines()]
    assert [line["sentence"] for line in events if line["event"] == "event recorded"] == ["applied"]


def test_what_nobody_has_seen_is_not_applied(world: World, moody: Submission) -> None:
    """On a first call --apply judges nothing, and nothing changes; on the second the table is that of the first."""
    before, apply = snapshot(world), ("--apply", "--reason", "why")
    for ids in ((moody.id,), ("--all",)):
        status, out, err = world.run_here("rejudge", *ids, *apply)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert f"run judge rejudge {ids[0]} first" in err
    for option in ("--again", "--retry-held"):
        status, _, err = world.run_here("rejudge", moody.id, option, *apply)
        assert status == 2
        assert "--apply judges nothing" in err
    assert snapshot(world) == before
    (world.root / "mood").write_text("0.25")
    status, out, _ = world.run_here("rejudge", moody.id, "--task", "copper", "--again")
    assert status == 0
    assert f"judge rejudge {moody.id} --task copper --apply --reason TEXT" in out
    shown = [line for line in out.splitlines() if "_rmse" in line]
    status, out, _ = world.run_here("rejudge", moody.id, *apply)
    assert status == 0
    assert [line for line in out.splitlines() if "_rmse" in line] == shown != []
    assert {r.task: r.round for r in world.results()} == {"copper": 1, "nickel": 0}
    assert world.run_here("rejudge", moody.id, *apply)[0] == 2  # it counts already


def test_a_label_that_changes_afterwards_is_measured_in_the_round_that_counts(world: World, moody: Submission) -> None:
    (world.root / "mood").write_text("0.25")
    rejudged(world, moody.id)
    assert rejudged(world, moody.id, "--apply", "--reason", "why")[0] == 0
    save_frames(world.root / "data", "Cu", "copper", shift=0.25)
    summary, _ = world.evaluate()
    assert [unit.did for unit in summary.units] == ["measured", "nothing"]
    assert force_rmse(world.results(), "copper") == pytest.approx(0, abs=1e-9)


def hold(world: World, model: Submission, task: str) -> None:
    """Three attempts at the next round of `task`, each spoilt by this machine."""
    rounds = {SubmissionTask(model.id, task, f"{task}@1"): 1}
    request = Request(ids=(model.id,), tasks=(task,), rounds=rounds)
    (planned,) = plan_work(world.workspace, request, Reporter(Console(file=StringIO()))).plan
    claimed = Claim(owner="o", host="h", started=utc_now()).model_dump_json().encode()
    end = End(owner="o", ended=utc_now(), fault=FaultCause.DISK, sentence="the disk is full: free some space")
    for n in (1, 2, 3):
        world.store.put(f"{planned.unit.prefix}{n}/claim.json", claimed)
        world.store.put(f"{planned.unit.prefix}{n}/end.json", end.model_dump_json().encode())


def test_a_task_without_a_verdict_is_not_applied_and_the_rest_is(world: World, moody: Submission) -> None:
    (world.root / "mood").write_text("0.25")
    hold(world, moody, "copper")
    status, out, _ = world.run_here("rejudge", moody.id)
    assert status == 1
    assert "the disk is full" in out
    status, out, _ = world.run_here("rejudge", moody.id, "--apply", "--reason", "why")
    assert status == 1
    assert f"{moody.id} copper has no new verdict: the old result still counts" in out
    assert f"{moody.id} copper: round 1 is held, or was not finished" in out
    assert force_rmse(world.results(), "copper") == pytest.approx(0, abs=1e-9)
    assert force_rmse(world.results(), "nickel") == pytest.approx(0.25, rel=1e-6)
    status, changes = rejudged(world, moody.id, "--task", "copper", "--retry-held")
    assert (status, changes["copper"]["after"]) == (0, "OK")


def test_a_verdict_other_than_ok_is_one_too_and_can_be_applied(world: World, moody: Submission) -> None:
    (world.root / "mood").write_text("not a number")
    assert world.run_here("rejudge", moody.id, "--task", "copper")[0] == 0
    status, out, _ = world.run_here("rejudge", moody.id, "--task", "copper", "--apply", "--reason", "it fails now")
    assert status == 0
    assert "OK → TOO_MANY_FAILURES" in " ".join(out.split())
    assert [result.verdict for result in world.results()] == [Verdict.TOO_MANY_FAILURES, Verdict.OK]


def test_what_was_taken_out_meanwhile_is_not_applied(world: World, moody: Submission) -> None:
    quiet = Reporter(Console(file=StringIO()))
    request = Request(ids=(moody.id,))
    rejudge(world.workspace, request, quiet)
    done = judged_anew(world.workspace, request, quiet)
    world.run_here("withdraw", moody.id, "--reason", "a mistake")
    applied = apply(world.workspace, done, "why", quiet)
    assert not applied.applied
    assert applied.exit_status == 1
    assert all("a mistake" in line for line in applied.not_applied)
    world.run_here("reinstate", moody.id, "--reason", "none")
    assert apply(world.workspace, done, "why", quiet).exit_status == 0
    assert "round 1 was applied meanwhile" in apply(world.workspace, done, "why", quiet).not_applied[0]

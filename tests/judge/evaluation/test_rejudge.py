"""Judging anew: beside the old, shown, and counting only once that is said with a reason."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rich.console import Console

from judge.config import UsageError
from judge.evaluation.rejudge import apply, judged_anew, next_round, rejudge
from judge.evaluation.request import Request
from judge.evaluation.work_plan import plan_work
from judge.records.attempts import read_histories
from judge.records.content_keys import observation_key, result_key
from judge.records.decisions import SubmissionTask
from judge.records.items_file import items_path
from judge.records.records import Claim, End, Result
from sandbox.verdict import FaultCause, Verdict
from submissions.progress import Reporter
from submissions.records import Submission, utc_now
from tests.judge.records.test_content_keys import MEASURED, OBSERVED
from tests.world.small_data import save_frames
from tests.world.world import World, small_world

MOODY = """
from pathlib import Path
from ase.calculators.emt import EMT

class Moody(EMT):
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        self.results["forces"] = self.results["forces"] + float(Path({mood!r}).read_text())

def make_calculator():
    return Moody()
"""


@pytest.fixture(scope="module")
def judged() -> Iterator[tuple[World, Submission, Path]]:
    """A world in which a model that answers as a file says was judged once, at its best, and a copy of its folder."""
    with TemporaryDirectory(prefix="lj") as folder, TemporaryDirectory() as copies:
        world = small_world(Path(folder) / "w")
        mood = world.root / "mood"
        mood.write_text("0")
        world.write_settings()
        model = world.submit("moody", MOODY.format(mood=str(mood)))
        world.evaluate()
        yield world, model, shutil.copytree(world.root, Path(copies) / "w")


@pytest.fixture
def world(judged: tuple[World, Submission, Path]) -> World:
    """That world as it was then; at the same place, since records name paths in it."""
    made, _, copy = judged
    shutil.rmtree(made.root)
    shutil.copytree(copy, made.root)
    return made


@pytest.fixture
def moody(judged: tuple[World, Submission, Path]) -> Submission:
    return judged[1]


def snapshot(world: World) -> dict[str, bytes]:
    return {key: world.store.get(key) for key in world.store.list("")}


def rejudged(world: World, *arguments: str) -> tuple[int, dict[str, Mapping[str, object]]]:
    """Exit status of `judge rejudge … --json` and the changes by task."""
    status, said = world.run_json_here("rejudge", *arguments)
    assert isinstance(said, dict)
    return status, {change["task"]: change for change in said["changes"]}


def force_rmse(results: list[Result], task: str) -> float | None:
    (found,) = (result for result in results if result.task == task)
    return found.metrics["force_rmse"].value


def test_a_round_enters_both_keys_and_the_first_leaves_them_as_they_were_before_there_were_rounds() -> None:
    assert observation_key(**OBSERVED) == observation_key(**OBSERVED, round=0) == "c568f1eb0e4e48a95689086e87f43954"
    assert result_key(**MEASURED) == result_key(**MEASURED, round=0) == "fa0fa65b755822c5f13440129d982ae4"
    assert len({observation_key(**OBSERVED, round=n) for n in range(4)}) == 4
    assert len({result_key(**MEASURED, round=n) for n in range(4)}) == 4


@pytest.mark.parametrize(
    ("counting", "begun", "again", "chosen"),
    [(0, 0, False, 1), (0, 1, False, 1), (0, 1, True, 2), (1, 1, False, 2), (1, 3, False, 3), (1, 3, True, 4)],
)
def test_what_was_begun_is_gone_on_with_unless_another_is_wanted(
    counting: int, begun: int, again: bool, chosen: int
) -> None:
    assert next_round(counting, begun, again) == chosen


def test_judging_anew_shows_what_changed_and_changes_nothing_that_counts(world: World, moody: Submission) -> None:
    before, results = snapshot(world), world.results()
    (world.root / "mood").write_text("0.25")
    status, changes = rejudged(world, moody.id)
    assert status == 0
    assert list(changes) == ["copper", "nickel"]
    copper = changes["copper"]
    assert (copper["before"], copper["after"], copper["round"], copper["same_answers"]) == ("OK", "OK", 1, False)
    (force,) = (metric for metric in copper["metrics"] if metric["name"] == "force_rmse")  # type: ignore[attr-defined]
    assert force["after"] == pytest.approx(0.25, rel=1e-6)
    assert force["difference"] == force["after"] - force["before"]
    assert world.results() == results
    after = snapshot(world)
    assert {key: after[key] for key in before} == before
    assert len([key for key in after if key.endswith(".json") and key.startswith("results/")]) == 4
    status, out, _ = world.run_here("rejudge", moody.id)
    assert status == 0
    assert "Nothing that counts has changed" in out
    assert snapshot(world) == after  # the second time all was there


def test_a_model_that_answers_the_same_is_said_to_and_has_a_result_of_its_own(world: World, moody: Submission) -> None:
    old = {result.result_key for result in world.results()}
    status, changes = rejudged(world, moody.id, "--task", "copper")
    assert status == 0
    assert changes["copper"]["same_answers"] is True
    assert all(metric["difference"] == 0 for metric in changes["copper"]["metrics"])  # type: ignore[attr-defined]
    keys = [key for key in world.store.list(f"results/{moody.id}/copper/") if key.endswith(".json")]
    new = [Result.read(world.store.get(key)) for key in keys if key.split("/")[-1][:-5] not in old]
    assert [result.round for result in new] == [1]
    assert world.store.exists(items_path(moody.id, "copper", new[0].result_key))
    assert len(list(world.store.list("observations/"))) == 2  # of one content, once


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
    told = [json.loads(line) for line in (world.root / "judge.jsonl").read_text().splitlines()]
    assert [line["sentence"] for line in told if line["event"] == "event recorded"] == ["applied"]


def test_what_nobody_has_seen_is_not_applied(world: World, moody: Submission) -> None:
    """On a first call --apply judges nothing, and nothing changes; on the second the table is that of the first."""
    before, apply = snapshot(world), ("--apply", "--reason", "why")
    for asked in ((moody.id,), ("--all",)):
        status, out, err = world.run_here("rejudge", *asked, *apply)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert f"run judge rejudge {asked[0]} first" in err
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


def test_once_applied_the_next_is_another_round_and_again_begins_yet_another(world: World, moody: Submission) -> None:
    one = (moody.id, "--task", "copper")
    assert rejudged(world, *one)[1]["copper"]["round"] == 1
    assert rejudged(world, *one, "--again")[1]["copper"]["round"] == 2
    assert rejudged(world, *one)[1]["copper"]["round"] == 2
    assert rejudged(world, *one, "--apply", "--reason", "why")[1]["copper"]["round"] == 2
    assert [result.round for result in world.results()] == [2, 0]
    assert rejudged(world, *one)[1]["copper"]["round"] == 3
    assert [result.round for result in world.results()] == [2, 0]


def test_an_unfinished_round_is_gone_on_with(world: World, moody: Submission) -> None:
    before = set(world.store.list(""))
    rejudged(world, moody.id, "--task", "copper")
    (end,) = (key for key in set(world.store.list("")) - before if key.endswith("end.json"))
    for key in set(world.store.list("results/")) - before:
        world.store.delete(key)
    world.store.delete(end)  # what is left is a claim whose judge gives no sign of life
    status, changes = rejudged(world, moody.id, "--task", "copper")
    assert (status, changes["copper"]["round"], changes["copper"]["after"]) == (0, 1, "OK")
    history = read_histories(world.store, [moody.id])[end.removesuffix("1/end.json")]
    assert [(attempt.n, attempt.end is not None) for attempt in history.attempts] == [(1, False), (2, True)]


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


def test_what_comes_to_no_verdict_is_not_applied_and_the_rest_is(world: World, moody: Submission) -> None:
    (world.root / "mood").write_text("0.25")
    hold(world, moody, "copper")
    status, out, _ = world.run_here("rejudge", moody.id)
    assert status == 1
    assert "the disk is full" in out
    status, out, _ = world.run_here("rejudge", moody.id, "--apply", "--reason", "why")
    assert status == 1
    assert f"{moody.id} copper came to no verdict: what counted counts still" in out
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


def test_only_what_was_judged_is_judged_anew(world: World, moody: Submission) -> None:
    assert world.run_here("withdraw", moody.id, "--reason", "it would be judged too")[0] == 0
    model, other = world.submit("emt"), world.submit("other")
    with pytest.raises(UsageError, match="nothing of it was judged yet"):
        rejudge(world.workspace, Request(ids=(model.id,)), Reporter(Console(file=StringIO())))
    world.evaluate(ids=(model.id,), tasks=("copper",))
    world.evaluate(ids=(other.id,), tasks=("nickel",))
    status, out, _ = world.run_here("rejudge", "--all")
    assert status == 0
    assert f"{model.id} nickel was not judged yet" in " ".join(out.split())
    assert [(r.submission, r.task, r.round) for r in world.results() if r.submission != moody.id] == [
        (model.id, "copper", 0),
        (other.id, "nickel", 0),
    ]


def test_what_was_taken_out_meanwhile_is_not_applied(world: World, moody: Submission) -> None:
    quiet = Reporter(Console(file=StringIO()))
    asked = Request(ids=(moody.id,))
    rejudge(world.workspace, asked, quiet)
    done = judged_anew(world.workspace, asked, quiet)
    world.run_here("withdraw", moody.id, "--reason", "a mistake")
    applied = apply(world.workspace, done, "why", quiet)
    assert not applied.applied
    assert applied.exit_status == 1
    assert all("a mistake" in line for line in applied.not_applied)
    world.run_here("reinstate", moody.id, "--reason", "none")
    assert apply(world.workspace, done, "why", quiet).exit_status == 0
    assert "round 1 was applied meanwhile" in apply(world.workspace, done, "why", quiet).not_applied[0]


def test_what_cannot_be_asked_is_one_line(world: World, moody: Submission) -> None:
    before = snapshot(world)
    cases: list[tuple[tuple[str, ...], str]] = [
        (("rejudge",), "say which submissions"),
        (("rejudge", "--all", moody.id), "say which submissions"),
        (("rejudge", moody.id, "--apply"), "say why"),
        (("rejudge", moody.id, "--reason", "why"), "--reason goes with --apply"),
        (("rejudge", "nobody"), "there is no submission 'nobody'"),
        (("rejudge", moody.id, "--task", "tin"), "has no task 'tin'"),
    ]
    for command, said in cases:
        status, _, err = world.run_here(*command)
        assert (status, err.count("\n")) == (2, 1), command
        assert said in err
    assert snapshot(world) == before
    world.run_here("withdraw", moody.id, "--reason", "a mistake")
    status, _, err = world.run_here("rejudge", moody.id)
    assert status == 2
    assert "was withdrawn on" in err

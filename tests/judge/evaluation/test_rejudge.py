"""Rejudging: new results are shown beside the old ones, and have no effect until they are applied."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from judge.config import UsageError
from judge.evaluation.rejudge import next_round, rejudge
from judge.evaluation.request import Request
from judge.records.attempts import read_histories
from judge.records.items_file import items_path
from judge.records.records import Result
from submissions.progress import Reporter
from submissions.records import Submission
from tests.judge.evaluation.moody import rejudged, snapshot
from tests.judge.records.test_content_keys import MEASURED, OBSERVED, observation_key, result_key
from tests.world.world import World


@pytest.fixture
def world(moody_world: World) -> World:
    return moody_world


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
    assert "The old results still count" in out
    assert snapshot(world) == after  # the second time all was there


def test_the_same_answers_are_reported_and_give_a_new_result(world: World, moody: Submission) -> None:
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


def test_once_applied_the_next_is_another_round_and_again_begins_yet_another(world: World, moody: Submission) -> None:
    arguments = (moody.id, "--task", "copper")
    assert rejudged(world, *arguments)[1]["copper"]["round"] == 1
    assert rejudged(world, *arguments, "--again")[1]["copper"]["round"] == 2
    assert rejudged(world, *arguments)[1]["copper"]["round"] == 2
    assert rejudged(world, *arguments, "--apply", "--reason", "why")[1]["copper"]["round"] == 2
    assert [result.round for result in world.results()] == [2, 0]
    assert rejudged(world, *arguments)[1]["copper"]["round"] == 3
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


def test_only_what_was_judged_is_judged_anew(world: World, moody: Submission) -> None:
    assert world.run_here("withdraw", moody.id, "--reason", "it would be judged too")[0] == 0
    model, other = world.submit("emt"), world.submit("other")
    with pytest.raises(UsageError, match="nothing of this was judged yet"):
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


def test_what_cannot_be_asked_is_one_line(world: World, moody: Submission) -> None:
    before = snapshot(world)
    cases: list[tuple[tuple[str, ...], str]] = [
        (("rejudge",), "say which submissions"),
        (("rejudge", "--all", moody.id), "say which submissions"),
        (("rejudge", moody.id, "--apply"), "give a reason"),
        (("rejudge", moody.id, "--reason", "why"), "--reason goes with --apply"),
        (("rejudge", "nobody"), "there is no submission 'nobody'"),
        (("rejudge", moody.id, "--task", "tin"), "has no task 'tin'"),
    ]
    for command, complaint in cases:
        status, _, err = world.run_here(*command)
        assert (status, err.count("\n")) == (2, 1), command
        assert complaint in err
    assert snapshot(world) == before
    world.run_here("withdraw", moody.id, "--reason", "a mistake")
    status, _, err = world.run_here("rejudge", moody.id)
    assert status == 2
    assert "was withdrawn on" in err

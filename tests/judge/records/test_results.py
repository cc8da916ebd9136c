"""Which results count: one for each task, from the last attempt of its unit."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from judge.records.asked_results import asked_by
from judge.records.attempts import read_histories
from judge.records.items_file import ItemsTable, items_path, result_path
from judge.records.records import Claim, End, Result
from judge.records.results import load_held, load_results, read_submissions
from sandbox.verdict import FaultCause, Verdict
from submissions.records import utc_now
from submissions.store.interface import StoreError
from submissions.store.local import LocalStore
from tasks.kinds.dynamics import DynamicsParameters
from tasks.suites.suite import load_suite
from tests.world.world import World


def copper_prefix(world: World, submission: str) -> str:
    return next(prefix for prefix in read_histories(world.store, [submission]) if "/copper/" in prefix)


def claim_again(world: World, prefix: str, end: End | None) -> None:
    record = Claim(owner="another boot/ns/1/1/t", host="elsewhere", started=utc_now())
    assert world.store.put_if_absent(f"{prefix}2/claim.json", record.model_dump_json().encode())
    if end:
        assert world.store.put_if_absent(f"{prefix}2/end.json", end.model_dump_json().encode())


def test_the_result_of_an_attempt_that_was_taken_over_does_not_count(world: World) -> None:
    submission = world.submit("emt")
    world.evaluate()
    assert [result.task for result in load_results(world.store, [submission.id])] == ["copper", "nickel"]
    end = End(owner="o", ended=utc_now(), verdict=Verdict.CRASHED)
    claim_again(world, copper_prefix(world, submission.id), end)
    assert [result.task for result in load_results(world.store, [submission.id])] == ["nickel"]
    world.evaluate()
    assert [result.verdict for result in load_results(world.store, [submission.id])] == [Verdict.CRASHED, Verdict.OK]


def test_a_verdict_without_an_observation_counts_only_if_the_last_attempt_has_it(world: World) -> None:
    submission = world.submit("bad", "def make_calculator():\n    raise RuntimeError('no')\n")
    world.evaluate(tasks=("copper",))
    assert [result.verdict for result in load_results(world.store, [submission.id])] == [Verdict.STARTUP_FAILED]
    claim_again(world, copper_prefix(world, submission.id), End(owner="o", ended=utc_now(), verdict=Verdict.CRASHED))
    assert not load_results(world.store, [submission.id])


WINNER = hashlib.sha256(b"winner").hexdigest()


@pytest.mark.parametrize("story", ["one", "after a crash", "late", "loses after all", "written over at the last"])
def test_the_items_are_those_of_the_result_that_won(story: str, tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    winner, loser = ItemsTable(store, "results/e/t/k.items"), ItemsTable(store, "results/e/t/k.items")
    result = "results/e/t/k.json"
    match story:
        case "one":
            winner.store_ahead_of(result, b"winner")
        case "after a crash":
            loser.store_ahead_of(result, b"loser")  # and dies
            winner.store_ahead_of(result, b"winner")
        case "late":
            winner.store_ahead_of(result, b"winner")
            store.put(result, b"{}")
            loser.store_ahead_of(result, b"loser")
            loser.give_way(WINNER)
        case "loses after all":
            winner.store_ahead_of(result, b"winner")
            loser.store_ahead_of(result, b"loser")
            store.put(result, b"{}")
            loser.give_way(WINNER)
        case "written over at the last":
            winner.store_ahead_of(result, b"winner")
            loser.store_ahead_of(result, b"loser")
            store.put(result, b"{}")
            winner.keep(b"winner")
            loser.give_way(WINNER)
    assert store.get("results/e/t/k.items") == b"winner"


def test_a_table_that_a_dead_judge_left_does_not_stay_beside_the_result(world: World) -> None:
    submission = world.submit("emt")
    world.evaluate(tasks=("copper",))
    (result,) = world.results()
    items = items_path(submission.id, "copper", result.result_key)
    world.store.delete(result_path(submission.id, "copper", result.result_key))
    world.store.put(items, b"of another judge, which rounds otherwise, and died")
    world.evaluate(tasks=("copper",))
    (again,) = world.results()
    assert hashlib.sha256(world.store.get(items)).hexdigest() == again.items_sha256 == result.items_sha256


def test_of_two_results_of_one_task_the_newer_counts(world: World) -> None:
    submission = world.submit("emt")
    world.evaluate(tasks=("copper",))
    (first,) = load_results(world.store, [submission.id])
    newer = first.model_copy(update={"result_key": "f" * 32, "measured": utc_now(), "n_items": 99})
    key = f"results/{submission.id}/copper/{newer.result_key}.json"
    world.store.put(key, newer.model_dump_json().encode())
    assert load_results(world.store, [submission.id]) == [newer]
    old = {f"results/{submission.id}/copper/{first.result_key}.json"}
    assert load_results(world.store, [submission.id], old) == [first]


def test_what_is_held_is_named(world: World) -> None:
    submission = world.submit("emt")
    world.evaluate(tasks=("copper",))
    prefix = copper_prefix(world, submission.id).replace("copper", "other")
    for n in (1, 2, 3):
        claim = Claim(owner="o", host="h", started=utc_now())
        end = End(owner="o", ended=utc_now(), fault=FaultCause.DISK, sentence="full")
        world.store.put(f"{prefix}{n}/claim.json", claim.model_dump_json().encode())
        world.store.put(f"{prefix}{n}/end.json", end.model_dump_json().encode())
    assert [(held.task, held.end.sentence) for held in load_held(world.store, [submission.id])] == [("other", "full")]


def test_a_broken_record_is_named(world: World) -> None:
    submission = world.submit("emt")
    key = f"submissions/{submission.id}/submission.json"
    world.store.put(key, world.store.get(key).replace(b'"schema_version":4', b'"schema_version":7'))
    with pytest.raises(StoreError, match=f"{key}: schema_version"):
        read_submissions(world.store)


def test_a_result_reads_back_as_it_was_written(world: World) -> None:
    world.submit("emt")
    world.evaluate(tasks=("copper",))
    (result,) = world.results()
    assert Result.model_validate_json(result.model_dump_json()) == result


def test_two_suites_with_a_task_of_one_name_are_shown_apart(world: World) -> None:
    world.write_settings()
    submission = world.submit("emt")
    world.evaluate()
    other = world.root / "other.toml"
    other.write_text(
        (world.root / "small.toml")
        .read_text()
        .replace('dataset = "copper@1"', 'dataset = "nickel@1"', 1)
        .replace('name = "small"', 'name = "other"')
    )
    _, output, _ = world.run("evaluate", "--all", "--suite", str(other), "--task", "copper")
    assert f"Next: judge site build --suite {other}" in " ".join(output.split())
    status, shown, _ = world.run("show", submission.id, "--details")
    assert status == 0
    assert "copper (copper@1)" in shown
    assert "copper (nickel@1)" in shown
    assert world.run_json("list")[1][0]["results"] == 3
    status, close, _ = world.run("show", submission.id, "--task", "nickel")
    assert status == 0
    assert "failure cost" in close
    assert "copper" not in close.replace(submission.id, "")
    assert world.run("show", submission.id, "--task", "tin")[0] == 2


def test_results_of_other_parameters_or_another_data_set_are_not_those_of_a_suite(world: World) -> None:
    """Two suites may have tasks of one name, and a new version of a suite may ask otherwise."""
    submission = world.submit("emt")
    world.evaluate()
    suite = load_suite(world.settings.suite)

    def counting(**changed: object) -> list[str]:
        tasks = tuple(replace(task, **changed) if task.name == "copper" else task for task in suite.tasks)
        is_asked = asked_by(replace(suite, tasks=tasks))
        return [result.task for result in load_results(world.store, [submission.id], is_asked=is_asked)]

    others = DynamicsParameters(steps=10, store_every=5)
    assert counting() == ["copper", "nickel"]
    assert counting(title="Another title", time_limit_s=1.0) == ["copper", "nickel"]
    assert counting(dataset="nickel@1") == ["nickel"]
    assert counting(parameters=others) == ["nickel"]
    key = next(key for key in world.store.list("results/") if "/copper/" in key and key.endswith(".json"))
    before = Result.read(world.store.get(key))
    unstated = before.model_copy(update={"provenance": before.provenance.model_copy(update={"parameters": ""})})
    world.store.put(key, unstated.model_dump_json().encode())
    assert counting(parameters=others) == ["copper", "nickel"]

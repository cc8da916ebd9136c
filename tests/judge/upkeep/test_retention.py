"""The retention policy removes what is old and not needed, says what it removed, and loses nothing that counts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.config import Retention
from judge.records.attempts import unit_prefix
from judge.records.decisions import EventKind, RoundRecord, record_event
from judge.records.items_file import result_path
from judge.records.model_file import model_path
from judge.records.observation_file import observation_path
from judge.records.records import Claim, End, Result
from judge.records.removals import FOLDER, Removal
from judge.records.signing import SigningKey
from judge.upkeep.usage import read_usage
from sandbox.verdict import Verdict
from submissions.preflight.log import log_path
from submissions.records import utc_now
from tests.judge.upkeep.gc_store import aged, claimed_by, vanish_when_seen
from tests.submissions.store.store_contract import moto_server, moto_store, use_any_credentials
from tests.world.board_records import digest
from tests.world.judged import copy_of, own_key_of, result_key, submission_of
from tests.world.world import World

OLD_HOURS = 24 * 40
A_SECOND = 1 / 86400  # days
MONTH = {"observations": 30, "trajectories": 30, "models": 30, "logs": 30}


@pytest.fixture
def world(once_judged: World) -> Iterator[World]:
    with copy_of(once_judged) as world:
        yield world


def old(world: World) -> World:
    """The same world, in which every file of the store is forty days old."""
    for path in world.store.root.rglob("*"):
        aged(path, OLD_HOURS)
    return world


def add_end(world: World, task: str, key: str, **fields: object) -> None:
    """An attempt of another unit of the submission, with an end."""
    prefix = unit_prefix(submission_of(world), task, key)
    claim = Claim(owner="another boot/ns/1/1/t", host="judge-2", started=utc_now())
    end = End(owner="another boot/ns/1/1/t", ended=utc_now(), verdict=Verdict.OK, **fields)
    world.store.put(f"{prefix}1/claim.json", claim.model_dump_json().encode())
    world.store.put(f"{prefix}1/end.json", end.model_dump_json().encode())


def observation_of(world: World, task: str = "copper") -> str:
    """The key of the observation of the result of a task."""
    return observation_path(Result.read(world.store.get(result_key(world, task))).provenance.observation or "")


def add_round(world: World, number: int, kind: str = "labelled_frames") -> str:
    """The key of the observation of a result of copper in another round of judging.

    Args:
        kind: that the result states, as if copper were a task of it.
    """
    result = Result.read(world.store.get(result_key(world)))
    observation, key = digest(f"answers of round {number}"), str(number) * 32
    world.store.put(observation_path(observation), b"answers")
    provenance = result.provenance.model_copy(update={"observation": observation})
    fields = {"kind": kind, "round": number, "observation_key": key, "result_key": key, "provenance": provenance}
    other = own_key_of(world).sign(result.model_copy(update=fields))
    world.store.put(result_path(other.submission, other.task, key), other.model_dump_json().encode())
    add_end(world, other.task, key, observation=observation)
    return observation_path(observation)


def apply_round(world: World, number: int) -> None:
    """From now on this round of copper counts."""
    record = RoundRecord(task="copper", dataset="copper@1", round=number)
    key, model = own_key_of(world), submission_of(world)
    record_event(world.store, key, EventKind.APPLIED, model, "the driver was upgraded", rounds=[record])


def expired(world: World, **policy: object) -> set[str]:
    usage = read_usage(world.with_settings(retention=policy).workspace)
    return {each.name for each in usage.expired}


def observations(world: World) -> set[str]:
    return set(world.store.list("observations/"))


def test_without_a_policy_everything_stays(world: World) -> None:
    assert Retention() == Retention(observations=None, trajectories=None, models=None, logs=None, images=None)
    add_round(world, 1)
    apply_round(world, 1)
    assert expired(old(world)) == set()


def test_a_round_that_may_still_be_applied_stays(world: World) -> None:
    add_round(world, 1)
    assert expired(old(world), **MONTH) == set()


def test_an_old_observation_of_an_earlier_round_goes_and_no_other(world: World) -> None:
    earlier = observation_of(world)
    add_round(world, 1)
    apply_round(world, 1)
    assert expired(world, **MONTH) == set()
    assert expired(old(world), **MONTH) == {earlier}
    assert expired(world, **{**MONTH, "observations": 50}) == set()


def test_a_trajectory_has_its_own_time(world: World) -> None:
    observation = observation_of(world)
    trajectory = add_round(world, 1, kind="dynamics")
    add_round(world, 2)
    apply_round(world, 2)
    old(world)
    assert expired(world, trajectories=30) == {trajectory}
    assert expired(world, observations=30) == {observation}
    assert expired(world, trajectories=50, observations=30) == {observation}
    world.write_settings(retention={"trajectories": 30})
    status, answer = world.run_json_here("gc")
    assert status == 0
    assert [(each["kind"], each["name"], each["by_policy"]) for each in answer["garbage"]] == [
        ("trajectory", trajectory, True)
    ]
    assert observation in observations(world)
    assert trajectory not in observations(world)


def test_a_trajectory_that_a_result_rests_on_stays(world: World) -> None:
    trajectory = add_round(world, 1, kind="dynamics")
    apply_round(world, 1)
    assert trajectory not in expired(old(world), **MONTH)
    assert trajectory in expired(world, **MONTH, also_needed=True)


def test_what_the_newest_pages_rest_on_stays_though_another_round_counts(world: World) -> None:
    assert world.run_here("site", "publish")[0] == 0
    add_round(world, 1)
    apply_round(world, 1)
    assert expired(old(world), **MONTH) == set()


def test_a_file_that_no_record_names_is_left_to_the_other_rules(world: World) -> None:
    world.store.put(observation_path(digest("of no attempt")), b"answers")
    assert expired(old(world), **MONTH) == set()


def test_nothing_goes_by_the_policy_while_a_judge_may_be_alive(world: World) -> None:
    old(world).write_settings(retention={**MONTH, "also_needed": True})
    claimed_by(world.store, "another boot/ns/1/1/t")
    status, plan = world.run_json_here("gc")
    assert (status, plan["garbage"]) == (0, [])
    assert len(observations(world)) == 2


def test_the_maintainer_may_say_that_needed_observations_go_too(world: World) -> None:
    assert expired(old(world), **MONTH, also_needed=True) == observations(world)


def test_an_observation_that_is_still_to_be_measured_stays(world: World) -> None:
    waiting = digest("not measured yet")
    world.store.put(observation_path(waiting), b"answers")
    add_end(world, "copper", "8" * 32, observation=waiting)
    assert observation_path(waiting) not in expired(old(world), **MONTH, also_needed=True)


def test_the_answers_of_a_shard_or_training_stay_until_they_are_joined(world: World) -> None:
    part, joined = digest("of a shard"), digest("of the task")
    for observation in (part, joined):
        world.store.put(observation_path(observation), b"answers")
    add_end(world, "copper", "7" * 32, observation=part)
    assert observation_path(part) not in expired(old(world), **MONTH, also_needed=True)
    add_end(world, "nickel", "8" * 32, observation=joined, parts=("7" * 32,))
    assert observation_path(part) not in expired(old(world), **MONTH)  # of another task
    add_end(world, "copper", "9" * 32, observation=joined, parts=("7" * 32,))
    assert expired(old(world), **MONTH) == {observation_path(part)}


def test_an_old_model_goes_though_an_attempt_names_it(world: World) -> None:
    model, unnamed = digest("a model"), digest("of no attempt")
    for each in (model, unnamed):
        world.store.put(model_path(each), b"weights")
    add_end(world, "copper", "9" * 32, model=model)
    assert expired(old(world), **MONTH) == {model_path(model)}


def test_a_preflight_log_goes_only_if_no_manifest_names_it(world: World) -> None:
    key = log_path(submission_of(world))
    world.store.put(key, b"hello")
    assert expired(old(world), **MONTH) == {key}
    assert world.run_here("site", "publish")[0] == 0
    assert expired(old(world), **MONTH) == set()


def test_old_parts_of_the_event_log_go_and_the_present_one_stays(world: World) -> None:
    for name in ("judge.jsonl", "judge.jsonl.1"):
        (world.root / name).write_text("{}\n")
        aged(world.root / name, OLD_HOURS)
    assert expired(world, **MONTH) == {str(world.root / "judge.jsonl.1")}


def test_a_part_of_the_event_log_that_is_rotated_meanwhile_is_left_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("judge.jsonl", "judge.jsonl.4"):
        (world.root / name).write_text("{}\n")
    vanish_when_seen(monkeypatch, "judge.jsonl.4")
    files = {file.name for file in read_usage(world.workspace).files}
    assert str(world.root / "judge.jsonl") in files
    assert str(world.root / "judge.jsonl.4") not in files


def test_what_was_removed_is_said_by_verify_and_is_no_error(world: World) -> None:
    assert world.run_here("site", "publish")[0] == 0
    old(world).write_settings(retention={**MONTH, "also_needed": True})
    status, plan = world.run_json_here("gc", "--dry-run")
    assert status == 0
    assert {each["name"] for each in plan["garbage"] if each["by_policy"]} == observations(world)
    assert list(world.store.list(FOLDER)) == []
    n_results = len(world.results())
    assert world.run_here("gc")[0] == 0
    assert observations(world) == set()
    (record,) = world.store.list(FOLDER)
    assert len(Removal.read(world.store.get(record)).keys) == n_results
    status, out, _ = world.run_here("verify", "--all")
    assert status == 0, out
    said = "observations were removed by the retention policy"
    assert out.splitlines()[0] == (
        f"–    {submission_of(world)}: {n_results} results: not all verified, {n_results} not measured again: {said}"
    )
    assert out.splitlines()[-1] == f"Everything else holds: {said}, of {n_results} results."
    before = world.results()
    assert world.run_here("evaluate", "--all", "--driver", "process")[0] == 0
    assert world.results() == before


def test_a_result_that_must_be_measured_again_without_its_observation_names_the_remedy(world: World) -> None:
    old(world).write_settings(retention={**MONTH, "also_needed": True})
    assert world.run_here("gc")[0] == 0
    world.store.delete(result_key(world))
    status, out, err = world.run_here("evaluate", "--all", "--driver", "process")
    assert status == 1
    remedy = f"its observation was removed by the retention policy: judge rejudge {submission_of(world)}"
    assert remedy in " ".join(f"{out} {err}".split())


def test_an_observation_that_is_gone_without_a_signed_record_is_an_error(world: World) -> None:
    gone = next(iter(observations(world)))
    world.store.delete(gone)
    assert world.run_here("verify", "--all")[0] == 1
    removal = SigningKey(b"\x07" * 32).sign(Removal(time=utc_now(), policy={}, keys=(gone,)))
    world.store.put(f"{FOLDER}20260101T000000Z-stranger.json", removal.model_dump_json().encode())
    assert world.run_here("verify", "--all")[0] == 1


KILLED = """
import os, sys
from submissions.store.local import LocalStore
from submissions.store.s3 import S3Store
Killed = S3Store if "IN_S3" in os.environ else LocalStore
delete, n = Killed.delete, 0
def killed(store, key):
    global n
    n += 1
    if n == int(os.environ["KILL_AT"]):
        os.kill(os.getpid(), 9)
    delete(store, key)
Killed.delete = killed
sys.argv = ["judge", "gc"]
from judge.cli.main import main
main()
"""


@pytest.mark.parametrize("kill_at", [1, 2])
def test_a_kill_while_files_are_removed_loses_nothing_that_counts(world: World, kill_at: int) -> None:
    old(world).write_settings(retention={**MONTH, "also_needed": True})
    environment = {**os.environ, "KILL_AT": str(kill_at), "PYTHONPATH": str(Path(__file__).parents[3])}
    ended = subprocess.run([sys.executable, "-c", KILLED], cwd=world.root, env=environment, check=False)
    assert ended.returncode == -9
    assert len(observations(world)) == 3 - kill_at
    assert world.run_here("verify", "--all")[0] == 0
    assert len(world.results()) == 2
    assert world.run_here("gc")[0] == 0
    assert observations(world) == set()
    assert world.run_here("verify", "--all")[0] == 0


def test_a_kill_while_objects_of_a_bucket_are_removed_loses_nothing_that_counts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_any_credentials(monkeypatch)
    with moto_server() as address:
        store = moto_store(address)
        for key in world.store.list(""):
            store.put(key, world.store.get(key))
        bucket = {"store": f"s3://{store.place.bucket}/{store.place.prefix}", "endpoint_url": address}
        world.write_settings(**bucket, retention={**dict.fromkeys(MONTH, A_SECOND), "also_needed": True})
        time.sleep(2.5)  # a server states the time of an object in whole seconds
        environment = {**os.environ, "KILL_AT": "2", "IN_S3": "1", "PYTHONPATH": str(Path(__file__).parents[3])}
        ended = subprocess.run([sys.executable, "-c", KILLED], cwd=world.root, env=environment, check=False)
        assert ended.returncode == -9
        assert len(list(store.list("observations/"))) == 1
        assert world.run_here("verify", "--all")[0] == 0
        assert world.run_here("gc")[0] == 0
        assert list(store.list("observations/")) == []
        assert world.run_here("verify", "--all")[0] == 0
        assert len(list(store.list("results/"))) == len(list(world.store.list("results/")))


def test_usage_shows_each_sort_with_what_gc_removes(world: World) -> None:
    earlier = observation_of(world)
    add_round(world, 1)
    apply_round(world, 1)
    old(world).write_settings(retention=MONTH)
    status, answer = world.run_json_here("store", "usage")
    rows = {each["sort"]: each for each in answer["sorts"]}
    assert status == 0
    assert (rows["observations"]["files"], rows["observations"]["expired_files"]) == (3, 1)
    assert rows["observations"]["expired_bytes"] == len(world.store.get(earlier))
    assert rows["observations"]["size_bytes"] == sum(len(world.store.get(key)) for key in observations(world))
    assert rows["observations"]["oldest"] == pytest.approx(time.time() - OLD_HOURS * 3600, abs=600)
    assert rows["models"]["files"] == 0
    assert rows["models"]["oldest"] is None
    _, out, _ = world.run_here("store", "usage")
    assert "30 days" in out
    assert "Images were not counted" in out


def test_in_s3_usage_is_one_listing_and_no_request_for_each_object(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_any_credentials(monkeypatch)
    with moto_server() as address:
        store = moto_store(address)
        for key in world.store.list(""):
            store.put(key, world.store.get(key))
        for number in range(200):
            store.put(observation_path(digest(f"answers {number}")), b"x")
        workspace = world.workspace.with_store(store)
        read_usage(workspace)  # fills the cache
        requests: list[str] = []
        store._client.meta.events.register("before-call.s3", lambda model, **_: requests.append(model.name))
        usage = read_usage(workspace)
    assert sum(each.files for each in usage.by_sort) >= 200
    assert "HeadObject" not in requests
    assert requests == ["ListObjectsV2"]

"""Files of a store that no record refers to are removed, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from judge.records.attempts import claim, unit_prefix
from judge.records.items_file import items_path
from judge.records.observation_file import observation_path
from judge.records.process_identity import process_identity
from judge.records.records import Claim, End
from judge.upkeep.gc import GarbageKind, dead_writers_files, items_without_result, unreferred_observations
from sandbox.verdict import Verdict
from submissions.records import utc_now
from submissions.store.local import LocalStore
from tests.judge.upkeep.gc_store import FUTURE, MODEL, aged, claimed_by, dead_owner
from tests.world.board_records import digest, good_results, save
from tests.world.world import World

LONE = observation_path(digest("nothing refers to it"))


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """A submission with all its results, and an observation to each."""
    made = LocalStore(tmp_path / "store")
    results = good_results(MODEL, 0.5)
    save(made, [MODEL], results)
    for result in results:
        assert result.provenance.observation
        made.put(observation_path(result.provenance.observation), b"answers")
    return made


def observations(store: LocalStore) -> list[str]:
    return [garbage.name for garbage in unreferred_observations(store)[0]]


def test_an_observation_that_nothing_refers_to_is_found_and_no_other(store: LocalStore) -> None:
    assert observations(store) == []
    store.put(LONE, b"lost answers")
    ((lone,), _) = unreferred_observations(store)
    assert (lone.kind, lone.name, lone.size_bytes) == (GarbageKind.OBSERVATION, LONE, len(b"lost answers"))
    before = set(store.list(""))
    assert lone.remove()
    assert set(store.list("")) == before - {LONE}


def test_what_any_attempt_of_any_round_refers_to_is_kept(store: LocalStore) -> None:
    """Also one of an attempt that was taken over, of a removed submission, or that only a result names."""
    for n, name in enumerate(("other-0123456789ab", MODEL.id)):
        end = End(owner="o", ended=utc_now(), verdict=Verdict.OK, observation=digest(f"answers {n}"))
        prefix = unit_prefix(name, "crystals", f"{n}" * 32)
        for number in (1, 2):
            record = Claim(owner="o", host="h", started=utc_now())
            store.put(f"{prefix}{number}/claim.json", record.model_dump_json().encode())
        store.put(f"{prefix}1/end.json", end.model_dump_json().encode())
        store.put(
            f"{prefix}2/end.json", End(owner="o", ended=utc_now(), verdict=Verdict.CRASHED).model_dump_json().encode()
        )
        store.put(observation_path(digest(f"answers {n}")), b"x")
    for key in list(store.list(f"attempts/{MODEL.id}/drift/")):
        store.delete(key)
    assert observations(store) == []


def test_nothing_is_touched_while_a_judge_may_be_about_to_name_it(store: LocalStore) -> None:
    store.put(LONE, b"x")
    for owner in (process_identity(), "another boot/ns/1/1/t"):
        prefix = claimed_by(store, owner)
        garbage, attempts = unreferred_observations(store)
        assert garbage == ()
        assert attempts.living == {prefix: "judge-2"}
    claimed_by(store, dead_owner())
    assert observations(store) == [LONE]


def test_an_observation_is_kept_if_an_attempt_began_after_attempts_were_read(store: LocalStore) -> None:
    """Its judge may be about to store the same bytes as an unreferred observation."""
    store.put(LONE, b"x")
    ((lone,), _) = unreferred_observations(store)
    attempt = claim(store, unit_prefix(MODEL.id, "crystals", "e" * 32), (), 1.0)
    assert attempt is not None
    assert not lone.remove()
    assert store.exists(LONE)


def test_items_go_without_their_result_and_stay_if_it_comes(store: LocalStore) -> None:
    assert items_without_result(store) == ()
    lost, late = (items_path(MODEL.id, "crystals", digit * 32) for digit in "ab")
    for key in (lost, late):
        store.put(key, b"items")
    first, second = items_without_result(store)
    store.put(late.replace(".items.safetensors", ".json"), store.get(next(store.list("results/"))))
    assert (first.name, first.remove(), store.exists(lost)) == (lost, True, False)
    assert (second.name, second.remove(), store.exists(late)) == (late, False, True)


def writer_killed(store: LocalStore) -> Path:
    """The temporary file of a writer that was killed before it gave it its name."""
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom submissions.store.local import LocalStore\n"
        "os.link = lambda *_: os.kill(os.getpid(), 9)\n"
        "LocalStore(Path(sys.argv[1])).put_if_absent('results/killed', b'abc')"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(store.root)], check=False)
    assert ended.returncode == -9
    (left,) = (store.root / "results").glob(".*")
    return left


def test_what_a_killed_writer_left_goes_after_an_hour(store: LocalStore) -> None:
    left, month = writer_killed(store), time.time() - 30 * 86400
    assert dead_writers_files(store, month) == ()
    aged(left, 2)
    ((garbage),) = dead_writers_files(store, month)
    assert (garbage.name, garbage.size_bytes) == (str(left), 3)
    assert garbage.remove()
    assert not left.exists()


def test_a_living_writers_file_stays_until_the_given_age(store: LocalStore) -> None:
    """The process of that number may be another one, or on another host: age decides in the end."""
    path = store.root / "results" / f".tmp-{os.getpid()}-0123456789abcdef"
    path.write_bytes(b"abc")
    aged(path, 24 * 29)
    assert dead_writers_files(store, time.time() - 30 * 86400) == ()
    assert [garbage.name for garbage in dead_writers_files(store, time.time() - 28 * 86400)] == [str(path)]


def test_a_file_that_a_living_writer_has_just_made_stays_whatever_age_is_given(store: LocalStore) -> None:
    path = store.root / "results" / f".tmp-{os.getpid()}-0123456789abcdef"
    path.write_bytes(b"abc")
    aged(path, 0.9)
    assert dead_writers_files(store, FUTURE) == ()
    aged(path, 1.1)
    assert [garbage.name for garbage in dead_writers_files(store, FUTURE)] == [str(path)]


def test_the_command_lists_then_removes_then_finds_nothing(world: World) -> None:
    world.write_settings()
    world.submit("emt")
    world.evaluate(tasks=("copper",))
    world.store.put(LONE, b"lost answers")
    lone_items = items_path("emt-0123456789ab", "copper", "a" * 32)
    world.store.put(lone_items, b"items")
    counting, before = world.results(), set(world.store.list(""))
    status, answer = world.run_json_here("gc", "--dry-run")
    assert isinstance(answer, dict)
    assert (status, answer["dry_run"]) == (0, True)
    assert [(each["kind"], each["name"]) for each in answer["garbage"]] == [
        ("observation", LONE),
        ("items table", lone_items),
    ]
    assert answer["notes"] == ["Images were not checked: submissions are run without a container here"]
    assert set(world.store.list("")) == before
    status, out, _ = world.run_here("gc")
    assert status == 0
    assert "Removed 2, 17 bytes in all." in out
    assert set(world.store.list("")) == before - {LONE, lone_items}
    assert world.results() == counting
    assert "There is nothing to remove." in world.run_here("gc")[1]
    events = [json.loads(line) for line in (world.root / "judge.jsonl").read_text().splitlines()]
    assert [(line["sentence"], line["key"]) for line in events if line["event"] == "collected"] == [
        ("observation", LONE),
        ("items table", lone_items),
    ]


def test_the_command_says_what_it_did_not_look_at(world: World) -> None:
    world.write_settings(driver="docker")
    model = world.submit("emt")
    prefix = unit_prefix(model.id, "copper", "k" * 32)
    record = Claim(owner="another boot/ns/1/1/t", host="judge-2", started=utc_now())
    world.store.put(f"{prefix}1/claim.json", record.model_dump_json().encode())
    world.store.put(LONE, b"x")
    status, out, _ = world.run_here("gc", "--dry-run", DOCKER_HOST=f"unix://{world.root}/none.sock")
    assert status == 0
    output = " ".join(out.split())
    assert f"No observation is removed while {prefix} is claimed on judge-2" in output
    assert "Images were not checked: no Docker engine answers" in output
    assert world.run_here("gc", "--days", "-1")[0] == 2

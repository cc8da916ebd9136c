"""Verifying: whatever is tampered with, exactly that is named first, with the remedy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.audit.tolerance import ABSOLUTE, RELATIVE, is_same
from judge.records.attempts import read_histories
from judge.records.items_file import pack_items, unpack_items
from judge.records.manifest import Manifest, manifest_path, sha256
from judge.records.observation_file import observation_path
from judge.records.records import End, Result
from judge.records.signing import SigningKey
from submissions.records import Record, Submission
from tests.judge.judged_world import (
    change_result,
    copy_of,
    judged_world,
    own_key_of,
    proven_in_a_container,
    result_key,
    scaled,
    submission_of,
)
from tests.judge.small_world import World, save_frames

STRANGER = SigningKey(bytes(32))


@pytest.fixture(scope="module")
def once() -> Iterator[World]:
    with judged_world() as world:
        for _ in range(2):
            assert world.run_here("site", "publish")[0] == 0
        yield world


@pytest.fixture
def world(once: World) -> Iterator[World]:
    with copy_of(once) as copy:
        yield copy


def broken(world: World, *arguments: str, status: int = 1) -> list[tuple[str, str]]:
    """What does not hold, and why, in the order in which it is named."""
    ended, said = world.run_json_here("verify", "--all", *arguments)
    assert isinstance(said, dict)
    assert (ended, said["exit_status"]) == (status, status)
    return [(row["what"], row["why"]) for row in said["broken"]]


def write(world: World, key: str, record: Record) -> None:
    world.store.put(key, record.model_dump_json(indent=1).encode())


def end_of(world: World, task: str = "copper") -> str:
    """Where the end of the only attempt at a task lies."""
    (prefix,) = [p for p in read_histories(world.store, [submission_of(world)]) if f"/{task}/" in p]
    return f"{prefix}1/end.json"


def items_key(world: World) -> str:
    return result_key(world).removesuffix(".json") + ".items.safetensors"


def other_items(world: World) -> bytes:
    """The copper's items table, the first item's numbers changed."""
    items = unpack_items(world.store.get(items_key(world)))
    for column in items.columns.values():
        column[0] += 1
    return pack_items(items)


def test_what_was_judged_and_published_holds(world: World) -> None:
    status, out, err = world.run_here("verify", "--all")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"ok   {submission_of(world)}: 2 results: hold"
    assert lines[1].startswith("ok   2 manifests, 2 published results, ")
    assert lines[-1] == "Everything holds."
    assert world.run_here("verify", submission_of(world)[:5])[1] == out


def test_nothing_is_written_and_nothing_is_run(world: World) -> None:
    shutil.rmtree(world.root / "emt")  # the submission itself
    shutil.rmtree(world.root / "run")
    before = {path: path.read_bytes() for path in world.root.rglob("*") if path.is_file()}
    assert broken(world, status=0) == []
    assert {path: path.read_bytes() for path in world.root.rglob("*") if path.is_file()} == before


def test_a_result_that_was_changed(world: World) -> None:
    path = change_result(world, scaled)
    assert broken(world)[0] == (path, "it was changed after it was signed")
    status, out, _ = world.run_here("verify", "--all")
    assert status == 1
    assert out.splitlines()[0] == f"NOT  {submission_of(world)}: 2 results: 1 of them do not hold"
    assert out.splitlines()[-1].endswith(f": {path}: it was changed after it was signed")


def test_a_metric_that_does_not_follow_though_it_is_signed(world: World) -> None:
    path = change_result(world, scaled, own_key_of(world))
    what, why = broken(world)[0]
    assert what == path
    assert why.startswith("metrics.force_rmse.value is 0.0")
    assert why.endswith(f": restore it, or judge rejudge {submission_of(world)}")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"verdict": "CRASHED"}, "verdict is 'CRASHED', but comes out as 'OK'"),
        ({"n_items": 5}, "n_items is 5, but comes out as 6"),
        ({"failures": {"NON_FINITE": 1}}, "failures.NON_FINITE is 1, but comes out as None"),
        ({"parts": ()}, "parts is [], but comes out as ["),
        ({"phase": "start"}, "phase is 'start', but comes out as "),
        ({"domain": "Molecules"}, "domain is 'Molecules', but comes out as 'Inorganic Materials'"),
    ],
)
def test_a_fact_that_does_not_follow_though_it_is_signed(world: World, change: dict[str, Any], named: str) -> None:
    def changed(result: Result) -> Result:
        return Result.model_validate({**result.model_dump(), **change})

    path = change_result(world, changed, own_key_of(world))
    what, why = broken(world)[0]
    assert what == path
    assert why.startswith(named)


def test_a_result_that_a_stranger_signed(world: World) -> None:
    path = change_result(world, lambda result: result, STRANGER)
    what, why = broken(world)[0]
    assert (what, why.startswith(f"it is signed by {STRANGER.public[:16]}…, which is not trusted")) == (path, True)
    left = broken(world, "--trust", STRANGER.public)
    assert [what for what, _ in left] == [path]
    assert left[0][1] == f"is not what was published ({manifest_path(1)}): restore it"


def test_a_result_that_nobody_signed(world: World) -> None:
    path = change_result(world, lambda result: result.model_copy(update={"signature": None}))
    assert broken(world)[0] == (path, "it is not signed")


def test_a_result_that_is_gone(world: World) -> None:
    path = result_key(world)
    world.store.delete(path)
    assert broken(world)[0] == (path, f"was published ({manifest_path(1)}) and is gone: restore it")


def test_a_result_that_was_renamed(world: World) -> None:
    path = result_key(world)
    world.store.put(path.replace("/copper/", "/copper/0"), world.store.get(path))
    assert broken(world, status=0) == []  # a copy counts for nothing
    world.store.delete(path)
    assert broken(world)[0] == (path, "is stored under another name: restore it")
    status, _, err = world.run_here("site", "publish")
    assert (status, err.count("\n"), path in err) == (3, 1, True)


def test_a_result_that_cannot_be_read(world: World) -> None:
    path, submission = result_key(world), submission_of(world)
    world.store.put(path, b"{}")
    what, why = broken(world)[0]
    assert (what, path in why, "restore it" in why) == (submission, True, True)


def test_items_that_were_changed(world: World) -> None:
    world.store.put(items_key(world), other_items(world))
    what, why = broken(world)[0]
    assert (what, why.startswith("its items table is not the one that it states")) == (result_key(world), True)


def test_items_that_do_not_follow_though_their_hash_is_signed(world: World) -> None:
    data, key = other_items(world), items_key(world)
    path = change_result(world, lambda r: r.model_copy(update={"items_sha256": sha256(data)}), own_key_of(world))
    world.store.put(key, data)
    what, why = broken(world)[0]
    assert what == path
    assert why.startswith("its items come out otherwise: ")


def test_items_that_are_gone(world: World) -> None:
    world.store.delete(items_key(world))
    what, why = broken(world)[0]
    assert (what, why.startswith("its items table is gone: restore it")) == (result_key(world), True)


def test_an_observation_that_was_changed_or_is_gone(world: World) -> None:
    path = result_key(world)
    key = observation_path(Result.read(world.store.get(path)).provenance.observation or "")
    *rest, last = world.store.get(key)
    world.store.put(key, bytes([*rest, last ^ 1]))
    what, why = broken(world)[0]
    assert (what, why.startswith(f"store: {key} is damaged: restore it")) == (path, True)
    world.store.delete(key)
    what, why = broken(world)[0]
    assert (what, why.startswith(f"store: {key} is gone: restore it")) == (path, True)


def test_an_end_that_says_otherwise(world: World) -> None:
    key = end_of(world)
    end = End.read(world.store.get(key))
    write(world, key, end.model_copy(update={"origin": end.origin.model_copy(update={"host": "elsewhere"})}))
    what, why = broken(world)[0]
    assert what == result_key(world)
    assert why.startswith("provenance.origin.host is ")
    assert "but comes out as 'elsewhere'" in why


def test_an_image_that_is_another(world: World) -> None:
    key = f"submissions/{submission_of(world)}/submission.json"
    submission = Submission.read(world.store.get(key))
    image = submission.image.model_copy(update={"id": f"sha256:{'0' * 64}"})
    path = result_key(world)
    write(world, key, submission.model_copy(update={"image": image}))
    misnamed, unlike = broken(world)[:2]
    assert misnamed == (key, "its ID does not follow from its card's name and its image: restore it")
    assert (unlike[0], unlike[1].startswith("its observation key does not follow from submission")) == (path, True)


def test_a_decision_that_was_changed(world: World) -> None:
    submission = submission_of(world)
    assert world.run_here("withdraw", submission, "--reason", "It was a mistake.")[0] == 0
    assert broken(world, status=0) == []
    (key,) = world.store.list(f"submissions/{submission}/events/")
    world.store.put(key, world.store.get(key).replace(b"a mistake", b"my mistake"))
    what, why = broken(world)[0]
    assert (what, why.startswith(f"store: {key}: it was changed after it was signed")) == (submission, True)


def test_a_decision_that_was_deleted(world: World) -> None:
    submission = submission_of(world)
    assert world.run_here("disqualify", submission, "--reason", "It was trained on it.")[0] == 0
    assert world.run_here("site", "publish")[0] == 0
    assert broken(world, status=0) == []
    (key,) = world.store.list(f"submissions/{submission}/events/")
    world.store.delete(key)
    assert broken(world)[0] == (key, f"was published ({manifest_path(3)}) and is gone: restore it")


def test_an_author_that_was_changed(world: World) -> None:
    key = f"submissions/{submission_of(world)}/submission.json"
    submission = Submission.read(world.store.get(key))
    write(world, key, submission.model_copy(update={"author": "somebody else"}))
    assert broken(world) == [(key, f"is not what was published ({manifest_path(1)}): restore it")]


def test_a_selftest_that_is_gone(world: World) -> None:
    proven_in_a_container(world, own_key_of(world))
    assert world.run_here("site", "publish")[0] == 0
    (key,) = world.store.list("selftests/")
    assert not any(what == key or "selftest" in why for what, why in broken(world))
    digest = sha256(world.store.get(key))
    world.store.delete(key)
    assert (manifest_path(3), f"the selftest {digest[:16]}… is gone: restore it") in broken(world)


def test_labels_that_were_changed(world: World) -> None:
    labels = world.root / "data" / "copper@1" / "labels.safetensors"
    labels.write_bytes(labels.read_bytes()[:-8] + np.float64(1.0).tobytes())
    what, why = broken(world)[0]
    assert what == result_key(world)
    assert why.startswith(f"{labels}: sha256: is not what card.toml states; restore the file")


def test_labels_that_were_exchanged_with_their_hash(world: World) -> None:
    path = result_key(world)
    save_frames(world.root / "data", "Cu", "copper", shift=0.5)
    what, why = broken(world)[0]
    assert what == path
    assert why == "it was measured with other labels than copper@1 has: restore these, or judge evaluate"


def test_structures_that_were_exchanged(world: World) -> None:
    path = result_key(world)
    save_frames(world.root / "data", "Cu", "copper", n_frames=7, shift=0.01)
    what, why = broken(world)[0]
    assert (what, why.startswith("it was observed on other structures than copper@1 has")) == (path, True)


def test_a_task_that_was_changed(world: World) -> None:
    text = (world.root / "small.toml").read_text()
    (world.root / "small.toml").write_text(text.replace("time_limit_s = 60", "time_limit_s = 61", 1))
    what, why = broken(world)[0]
    assert what == result_key(world)
    assert why.startswith("its observation key does not follow from submission, suite, data set")


def test_data_that_are_not_here(world: World) -> None:
    shutil.rmtree(world.root / "data" / "copper@1")
    assert broken(world) == [
        (result_key(world), "not verified: data set copper@1 is not here: judge data import, or --skip-missing")
    ]
    assert broken(world, "--skip-missing", status=0) == []
    status, out, _ = world.run_here("verify", "--all")
    assert status == 1
    assert out.splitlines()[0] == (
        f"–    {submission_of(world)}: 2 results: not all verified, 1 not verified: data sets are missing"
    )
    path = change_result(world, scaled)  # what can be checked without them is
    assert broken(world, "--skip-missing")[0] == (path, "it was changed after it was signed")


def changed_manifest(world: World, n: int, key: SigningKey | None = None, **change: object) -> None:
    manifest = Manifest.read(world.store.get(manifest_path(n)))
    changed = manifest.model_copy(update=change)
    write(world, manifest_path(n), key.sign(changed) if key else changed)


def better_scores(world: World) -> dict[str, Any]:
    stated = Manifest.read(world.store.get(manifest_path(2))).scores
    id, scores = next(iter(stated.items()))
    assert scores.force_field is not None
    return {id: scores.model_copy(update={"force_field": scores.force_field / 2})}


def test_a_score_that_was_changed(world: World) -> None:
    changed_manifest(world, 2, scores=better_scores(world))
    what, why = broken(world)[0]
    assert (what, why.startswith("it was changed after it was signed")) == (manifest_path(2), True)


def test_a_score_that_does_not_follow_though_it_is_signed(world: World) -> None:
    changed_manifest(world, 2, own_key_of(world), scores=better_scores(world))
    (world.root / "public" / "manifest.json").write_bytes(world.store.get(manifest_path(2)))
    ((what, why),) = broken(world)
    assert what == manifest_path(2)
    assert why.startswith(f"scores.{submission_of(world)}: force_field is ")
    assert why.endswith(" when computed again: judge site publish")


def test_a_rank_that_was_withheld(world: World) -> None:
    """Only of what the manifest says is there for comparison: a page then shows it as such."""
    id = submission_of(world)
    withheld = {id: Manifest.read(world.store.get(manifest_path(2))).scores[id].model_copy(update={"rank": None})}
    for references, said in (
        ((), [(manifest_path(2), f"scores.{id}: rank is None, and 1 when computed again: judge site publish")]),
        ((id,), []),
    ):
        changed_manifest(world, 2, own_key_of(world), scores=withheld, references=references)
        (world.root / "public" / "manifest.json").write_bytes(world.store.get(manifest_path(2)))
        assert broken(world, status=1 if said else 0) == said


def test_manifests_that_changed_places(world: World) -> None:
    first, second = world.store.get(manifest_path(1)), world.store.get(manifest_path(2))
    world.store.put(manifest_path(1), second)
    world.store.put(manifest_path(2), first)
    assert broken(world)[0] == (manifest_path(1), "says that it is number 2: restore it")


def test_a_manifest_that_is_gone(world: World) -> None:
    last = world.store.get(manifest_path(2))
    world.store.delete(manifest_path(1))
    assert broken(world) == [(manifest_path(1), "is gone: restore it")]
    world.store.delete(manifest_path(2))
    page = str(world.root / "public" / "manifest.json")
    assert broken(world) == [(page, "the store has no manifest of suite small: restore manifests/")]
    world.store.put(manifest_path(1), last)
    assert broken(world)[0] == (manifest_path(1), "says that it is number 2: restore it")


def test_the_last_manifest_is_missed_by_the_pages(world: World) -> None:
    world.store.delete(manifest_path(2))
    page = str(world.root / "public" / "manifest.json")
    assert broken(world) == [
        (page, f"is not {manifest_path(1)}, the last of suite small: judge site publish --anew writes them anew")
    ]


def test_a_page_that_was_changed_or_is_gone(world: World) -> None:
    page = world.root / "public" / "index.html"
    page.write_bytes(page.read_bytes().replace(b"<table", b"<TABLE", 1))
    assert broken(world) == [(str(page), "is not what was published: judge site publish --anew writes them anew")]
    page.unlink()
    assert broken(world) == [(str(page), "is gone: judge site publish --anew writes them anew")]
    shutil.rmtree(world.root / "public")
    assert broken(world, status=0) == []


def test_a_manifest_that_a_stranger_signed(world: World) -> None:
    changed_manifest(world, 2, STRANGER)
    what, why = broken(world)[0]
    assert (what, STRANGER.public[:16] in why) == (manifest_path(2), True)


def test_the_rest_is_counted(world: World) -> None:
    path, page = change_result(world, scaled), world.root / "public" / "index.html"
    world.store.delete(manifest_path(1))
    page.unlink()
    named = [what for what, _ in broken(world)]
    assert named[0] == path
    assert {path, manifest_path(1), str(page)} <= set(named)
    status, out, _ = world.run_here("verify", "--all")
    assert (status, f"(and {len(named) - 1} more)" in out.splitlines()[-1]) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((), "say which submissions"),
        (("--all", "emt"), "say which submissions"),
        (("nobody",), "there is no submission 'nobody'"),
        (("--all", "--trust", "abc"), "--trust: 'abc' is no public key"),
        (("--all", "--suite", "nowhere"), "nowhere"),
    ],
)
def test_wrong_usage_is_one_line(world: World, arguments: tuple[str, ...], named: str) -> None:
    status, out, err = world.run_here("verify", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert named in err


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-3, 3))
def test_rounding_is_passed_over_and_more_is_not(number: float, times: float) -> None:
    moved = number * (1 + times * RELATIVE)
    if abs(times) < 0.999:
        assert is_same(number, moved)
    if abs(times) > 1.001 and abs(number * times * RELATIVE) > 2 * ABSOLUTE and abs(moved) < 1e308:
        assert not is_same(number, moved)


def test_what_is_no_number_is_never_the_same() -> None:
    assert not is_same(float("nan"), float("nan"))
    assert not is_same(1.0, float("nan"))
    assert not is_same(None, 0.0)
    assert is_same(None, None)

"""Verifying the records that results follow from: observation, end, submission, decisions, selftests."""

from __future__ import annotations

import pytest

from judge.records.manifest import manifest_path, sha256
from judge.records.observation_file import observation_path
from judge.records.records import End, Result
from submissions.records import Submission
from tests.judge.audit.tampering import defects, end_of, write
from tests.world.judged import own_key_of, proven_in_a_container, result_key, submission_of
from tests.world.world import World


@pytest.fixture
def world(published_world: World) -> World:
    return published_world


def test_an_observation_that_was_changed_or_is_gone(world: World) -> None:
    path = result_key(world)
    key = observation_path(Result.read(world.store.get(path)).provenance.observation or "")
    *rest, last = world.store.get(key)
    world.store.put(key, bytes([*rest, last ^ 1]))
    what, why = defects(world)[0]
    assert (what, why.startswith(f"store: {key} is damaged: restore it")) == (path, True)
    world.store.delete(key)
    what, why = defects(world)[0]
    assert (what, why.startswith(f"store: {key} is gone: restore it")) == (path, True)


def test_an_end_that_says_otherwise(world: World) -> None:
    key = end_of(world)
    end = End.read(world.store.get(key))
    write(world, key, end.model_copy(update={"origin": end.origin.model_copy(update={"host": "elsewhere"})}))
    what, why = defects(world)[0]
    assert what == result_key(world)
    assert why.startswith("provenance.origin.host is ")
    assert "and 'elsewhere' when measured again" in why


def test_an_image_that_is_another(world: World) -> None:
    key = f"submissions/{submission_of(world)}/submission.json"
    submission = Submission.read(world.store.get(key))
    image = submission.image.model_copy(update={"id": f"sha256:{'0' * 64}"})
    path = result_key(world)
    write(world, key, submission.model_copy(update={"image": image}))
    misnamed, unlike = defects(world)[:2]
    assert misnamed == (key, "its ID does not follow from its card's name and its image: restore it")
    assert (unlike[0], unlike[1].startswith("its observation key does not follow from submission")) == (path, True)


def test_a_decision_that_was_changed(world: World) -> None:
    submission = submission_of(world)
    assert world.run_here("withdraw", submission, "--reason", "It was a mistake.")[0] == 0
    assert defects(world, status=0) == []
    (key,) = world.store.list(f"submissions/{submission}/events/")
    world.store.put(key, world.store.get(key).replace(b"a mistake", b"my mistake"))
    what, why = defects(world)[0]
    assert (what, why.startswith(f"store: {key}: it was changed after it was signed")) == (submission, True)


def test_a_decision_that_was_deleted(world: World) -> None:
    submission = submission_of(world)
    assert world.run_here("disqualify", submission, "--reason", "It was trained on it.")[0] == 0
    assert world.run_here("site", "publish")[0] == 0
    assert defects(world, status=0) == []
    (key,) = world.store.list(f"submissions/{submission}/events/")
    world.store.delete(key)
    assert defects(world)[0] == (key, f"was published ({manifest_path(3)}) and is gone: restore it")


def test_an_author_that_was_changed(world: World) -> None:
    key = f"submissions/{submission_of(world)}/submission.json"
    submission = Submission.read(world.store.get(key))
    write(world, key, submission.model_copy(update={"author": "somebody else"}))
    assert defects(world) == [(key, f"is not what was published ({manifest_path(1)}): restore it")]


def test_a_selftest_that_is_gone(world: World) -> None:
    proven_in_a_container(world, own_key_of(world))
    assert world.run_here("site", "publish")[0] == 0
    (key,) = world.store.list("selftests/")
    assert not any(what == key or "selftest" in why for what, why in defects(world))
    digest = sha256(world.store.get(key))
    world.store.delete(key)
    assert (manifest_path(3), f"the selftest {digest[:16]}… is gone: restore it") in defects(world)

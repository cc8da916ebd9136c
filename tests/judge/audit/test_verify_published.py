"""Verifying manifests, published scores and pages."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from judge.records.manifest import Manifest, manifest_path
from judge.records.signing import SigningKey
from tests.judge.audit.tampering import STRANGER, defects, write
from tests.world.judged import own_key_of, submission_of
from tests.world.world import World


@pytest.fixture
def world(published_world: World) -> World:
    return published_world


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
    what, why = defects(world)[0]
    assert (what, why.startswith("it was changed after it was signed")) == (manifest_path(2), True)


def test_a_score_that_does_not_follow_though_it_is_signed(world: World) -> None:
    changed_manifest(world, 2, own_key_of(world), scores=better_scores(world))
    (world.root / "public" / "manifest.json").write_bytes(world.store.get(manifest_path(2)))
    ((what, why),) = defects(world)
    assert what == manifest_path(2)
    assert why.startswith(f"scores.{submission_of(world)}: force_field is ")
    assert why.endswith(" when computed again: judge site publish")


def test_a_rank_that_was_withheld(world: World) -> None:
    """Only submissions that the manifest lists as references: a page then shows them as such."""
    id = submission_of(world)
    withheld = {id: Manifest.read(world.store.get(manifest_path(2))).scores[id].model_copy(update={"rank": None})}
    for references, complaint in (
        ((), [(manifest_path(2), f"scores.{id}: rank is None, and 1 when computed again: judge site publish")]),
        ((id,), []),
    ):
        changed_manifest(world, 2, own_key_of(world), scores=withheld, references=references)
        (world.root / "public" / "manifest.json").write_bytes(world.store.get(manifest_path(2)))
        assert defects(world, status=1 if complaint else 0) == complaint


def test_manifests_that_changed_places(world: World) -> None:
    first, second = world.store.get(manifest_path(1)), world.store.get(manifest_path(2))
    world.store.put(manifest_path(1), second)
    world.store.put(manifest_path(2), first)
    assert defects(world)[0] == (manifest_path(1), "says that it is number 2: restore it")


def test_a_manifest_that_is_gone(world: World) -> None:
    last = world.store.get(manifest_path(2))
    world.store.delete(manifest_path(1))
    assert defects(world) == [(manifest_path(1), "is gone: restore it")]
    world.store.delete(manifest_path(2))
    page = str(world.root / "public" / "manifest.json")
    assert defects(world) == [(page, "the store has no manifest of suite small: restore manifests/")]
    world.store.put(manifest_path(1), last)
    assert defects(world)[0] == (manifest_path(1), "says that it is number 2: restore it")


def test_the_last_manifest_is_missed_by_the_pages(world: World) -> None:
    world.store.delete(manifest_path(2))
    page = str(world.root / "public" / "manifest.json")
    assert defects(world) == [
        (page, f"is not {manifest_path(1)}, the last of suite small: judge site publish --anew writes them again")
    ]


def test_a_page_that_was_changed_or_is_gone(world: World) -> None:
    page = world.root / "public" / "index.html"
    page.write_bytes(page.read_bytes().replace(b"<table", b"<TABLE", 1))
    assert defects(world) == [(str(page), "is not what was published: judge site publish --anew writes them again")]
    page.unlink()
    assert defects(world) == [(str(page), "is gone: judge site publish --anew writes them again")]
    shutil.rmtree(world.root / "public")
    assert defects(world, status=0) == []


def test_a_manifest_that_a_stranger_signed(world: World) -> None:
    changed_manifest(world, 2, STRANGER)
    what, why = defects(world)[0]
    assert (what, STRANGER.public[:16] in why) == (manifest_path(2), True)

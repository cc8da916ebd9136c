"""Verifying results: the first line names exactly the record that was tampered with, and the remedy."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from judge.records.manifest import manifest_path, sha256
from judge.records.records import Result
from tests.judge.audit.tampering import STRANGER, defects, items_key, other_items
from tests.world.judged import change_result, own_key_of, result_key, scaled, submission_of
from tests.world.world import World


@pytest.fixture
def world(published_world: World) -> World:
    return published_world


def test_what_was_judged_and_published_holds(world: World) -> None:
    status, out, err = world.run_here("verify", "--all")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"ok   {submission_of(world)}: 2 results: hold"
    assert lines[1].startswith("ok   2 manifests, 2 published results, ")
    assert lines[-1] == "Everything holds."
    assert world.run_here("verify", submission_of(world)[:5])[1] == out


def test_another_suite_than_was_judged_is_named(world: World) -> None:
    suite = (world.root / "small.toml").read_text().replace('"small"', '"other"').replace("copper@1", "nickel@1")
    (world.root / "other.toml").write_text(suite)
    status, out, _ = world.run_here("verify", "--all", "--suite", "other.toml")
    assert status == 1
    assert out.splitlines()[-1] == "Nothing was judged by the suite other. Name one that was with --suite: small"


def test_nothing_is_written_and_nothing_is_run(world: World) -> None:
    shutil.rmtree(world.root / "emt")  # the submission itself
    shutil.rmtree(world.root / "run")
    before = {path: path.read_bytes() for path in world.root.rglob("*") if path.is_file()}
    assert defects(world, status=0) == []
    assert {path: path.read_bytes() for path in world.root.rglob("*") if path.is_file()} == before


def test_a_result_that_was_changed(world: World) -> None:
    path = change_result(world, scaled)
    assert defects(world)[0] == (path, "it was changed after it was signed")
    status, out, _ = world.run_here("verify", "--all")
    assert status == 1
    assert out.splitlines()[0] == f"NOT  {submission_of(world)}: 2 results: 1 of them do not hold"
    assert out.splitlines()[-1].endswith(f": {path}: it was changed after it was signed")


def test_a_metric_that_does_not_follow_though_it_is_signed(world: World) -> None:
    path = change_result(world, scaled, own_key_of(world))
    what, why = defects(world)[0]
    assert what == path
    assert why.startswith("metrics.force_rmse.value is 0.0")
    assert why.endswith(f": restore it, or judge rejudge {submission_of(world)}")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"verdict": "CRASHED"}, "verdict is 'CRASHED', and 'OK' when measured again"),
        ({"n_items": 5}, "n_items is 5, and 6 when measured again"),
        ({"failures": {"NON_FINITE": 1}}, "failures.NON_FINITE is 1, and None when measured again"),
        ({"parts": ()}, "parts is [], and ["),
        ({"phase": "start"}, "phase is 'start', and "),
        ({"domain": "Molecules"}, "domain is 'Molecules', and 'Inorganic Materials' when measured again"),
    ],
)
def test_a_fact_that_does_not_follow_though_it_is_signed(world: World, change: dict[str, Any], named: str) -> None:
    def changed(result: Result) -> Result:
        return Result.model_validate({**result.model_dump(), **change})

    path = change_result(world, changed, own_key_of(world))
    what, why = defects(world)[0]
    assert what == path
    assert why.startswith(named)


def test_a_result_that_a_stranger_signed(world: World) -> None:
    path = change_result(world, lambda result: result, STRANGER)
    what, why = defects(world)[0]
    assert (what, why.startswith(f"it is signed by {STRANGER.public[:16]}…, which is not trusted")) == (path, True)
    left = defects(world, "--trust", STRANGER.public)
    assert [what for what, _ in left] == [path]
    assert left[0][1] == f"is not what was published ({manifest_path(1)}): restore it"


def test_a_result_that_nobody_signed(world: World) -> None:
    path = change_result(world, lambda result: result.model_copy(update={"signature": None}))
    assert defects(world)[0] == (path, "it is not signed")


def test_a_result_that_is_gone(world: World) -> None:
    path = result_key(world)
    world.store.delete(path)
    assert defects(world)[0] == (path, f"was published ({manifest_path(1)}) and is gone: restore it")


def test_a_result_that_was_renamed(world: World) -> None:
    path = result_key(world)
    world.store.put(path.replace("/copper/", "/copper/0"), world.store.get(path))
    assert defects(world, status=0) == []  # a copy counts for nothing
    world.store.delete(path)
    assert defects(world)[0] == (path, "is stored under another name: restore it")
    status, _, err = world.run_here("site", "publish")
    assert (status, err.count("\n"), path in err) == (3, 1, True)


def test_a_result_that_cannot_be_read(world: World) -> None:
    path, submission = result_key(world), submission_of(world)
    world.store.put(path, b"{}")
    what, why = defects(world)[0]
    assert (what, path in why, "restore it" in why) == (submission, True, True)


def test_items_that_were_changed(world: World) -> None:
    world.store.put(items_key(world), other_items(world))
    what, why = defects(world)[0]
    assert (what, why.startswith("its items table is not the one that it states")) == (result_key(world), True)


def test_items_that_do_not_follow_though_their_hash_is_signed(world: World) -> None:
    data, key = other_items(world), items_key(world)
    path = change_result(world, lambda r: r.model_copy(update={"items_sha256": sha256(data)}), own_key_of(world))
    world.store.put(key, data)
    what, why = defects(world)[0]
    assert what == path
    assert why.startswith("its items differ when they are measured again: ")


def test_items_that_are_gone(world: World) -> None:
    world.store.delete(items_key(world))
    what, why = defects(world)[0]
    assert (what, why.startswith("its items table is gone: restore it")) == (result_key(world), True)


def test_the_rest_is_counted(world: World) -> None:
    path, page = change_result(world, scaled), world.root / "public" / "index.html"
    world.store.delete(manifest_path(1))
    page.unlink()
    named = [what for what, _ in defects(world)]
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

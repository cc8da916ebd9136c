"""`judge doctor` finds before a run what `judge evaluate` would refuse."""

from __future__ import annotations

import shutil
import sys

import pytest

from judge.upkeep.doctor import CheckResult, examine
from tests.world.world import World


def findings(world: World) -> dict[str, CheckResult]:
    """The findings up to that about the suite: before guests are started."""
    results = {}
    for result in examine(world.workspace):
        results[result.name] = result
        if result.name == "suite":
            break
    return results


def test_free_space_is_that_of_the_settings(world: World) -> None:
    assert findings(world)["disk"].ok
    full = findings(world.with_settings(min_free_bytes=1 << 60))["disk"]
    assert (full.ok, "or set min_free_bytes" in full.text) == (False, True)


def test_a_host_says_what_it_offers(world: World) -> None:
    host = findings(world)["host"]
    assert host.ok
    assert host.text.startswith(("cgroup v1; ", "cgroup v2; "))


def test_a_key_is_looked_for_and_not_made(world: World) -> None:
    assert findings(world)["key"].ok is None
    assert not world.settings.key_file.exists()
    world.submit("emt")
    world.evaluate()
    assert findings(world)["key"].ok
    world.settings.key_file.chmod(0o644)
    assert findings(world)["key"].ok is False


def test_folders_that_cannot_be_written_are_named(world: World) -> None:
    assert findings(world)["folders"].ok
    assert not world.settings.site_dir.exists()
    (world.root / "var").write_text("in the way")
    for name in ("data", "site_dir"):
        folder = world.root / "var" / name
        finding = findings(world.with_settings(**{name: folder}))["folders"]
        expected = f"{folder} cannot be written (Not a directory): make room for it, or set {name}"
        assert finding == ("folders", False, expected)


def test_a_suite_that_cannot_be_judged_is_named(world: World) -> None:
    assert findings(world)["suite"] == ("suite", True, "small, version 1: its 2 tasks can be judged")
    suite = world.root / "small.toml"
    text = suite.read_text()
    suite.write_text(text.replace('"labelled_frames"', '"elasticity"', 1))
    assert (findings(world)["suite"].ok, "task copper" in findings(world)["suite"].text) == (False, True)
    suite.write_text(text)
    shutil.rmtree(world.root / "data" / "copper@1")
    missing = "small: data sets are missing (copper@1): judge plan says how to import each"
    assert findings(world)["suite"] == ("suite", False, missing)


def test_data_sets_that_are_not_built_yet_are_tried(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    quickstart = world.with_settings(suite="quickstart")
    assert findings(quickstart)["suite"].text.endswith("tasks can be judged; judge evaluate builds 18 data sets")
    assert not (world.root / "data" / "s22@1").exists()
    monkeypatch.setitem(sys.modules, "phono3py", None)  # it cannot be imported
    finding = findings(quickstart)["suite"]
    assert (finding.ok, "pip install 'lambench-judge[conductivity]'" in finding.text) == (False, True)

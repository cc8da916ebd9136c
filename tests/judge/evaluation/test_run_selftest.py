"""The selftest of this host, by its command and on a real engine."""

from __future__ import annotations

import json
import platform
from datetime import timedelta

import docker
import pytest

from judge.evaluation.host_selftest import (
    last_selftest,
    run_selftest,
    store_selftest,
    unproven,
)
from judge.records.signing import SigningKey, check_signature
from sandbox.driver import Driver
from sandbox.drivers.open_driver import open_driver
from sandbox.selftest.attack import Attack, Finding, Trial
from sandbox.selftest.catalog import ATTACKS
from sandbox.selftest.run import LEFT_BEHIND, AttackResult, selftest
from submissions.records import utc_now
from tests.judge.evaluation.selftest_records import MAX_AGE_DAYS, result_of, selftest_of
from tests.world.world import World


def test_the_attacks_are_listed(world: World) -> None:
    status, listed = world.run_json_here("selftest", "--list")
    assert status == 0
    assert [row["name"] for row in listed] == [attack.name for attack in ATTACKS]
    _, out, _ = world.run_here("selftest", "--list", "--only", "fill-tmp")
    assert out.split() == ["fill-tmp", "It", "fills", "/tmp."]


def test_an_attack_that_is_not_there_is_wrong_usage(world: World) -> None:
    status, _, err = world.run_here("selftest", "--only", "fill-the-moon")
    assert status == 2
    assert "fill-the-moon" in err
    assert "--list" in err


def test_the_key_of_a_selftest_lies_nowhere_that_is_copied_or_shown(world: World) -> None:
    world.write_settings()
    lies = world.root / "store" / "signing.key"
    status, _, err = world.run_here("selftest", "--base", "lambench/absent:latest", LAMBENCH_KEY_FILE=str(lies))
    assert (status, err.startswith(f"judge: key_file: {lies} lies within the store"), lies.exists()) == (2, True, False)


@pytest.mark.docker
def test_a_selftest_that_is_broken_off_takes_the_proof_back(world: World, images) -> None:
    driver: Driver = open_driver("docker", world.settings.run_dir)
    here, seen = result_of(platform.node(), driver.engine), []
    store_selftest(world.store, selftest_of(platform.node(), driver.engine, started=utc_now() - timedelta(hours=1)))
    assert unproven(world.store, [here], MAX_AGE_DAYS, utc_now(), False) == []

    def interrupt(result: AttackResult) -> None:
        seen.append(result.name)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_selftest(world.store, driver, SigningKey.create(world.settings.key_file), interrupt)
    newest = last_selftest(world.store, platform.node(), driver.engine)
    assert newest is not None
    assert ([result.name for result in newest[1].results], newest[1].passed) == (seen, False)
    assert seen == [ATTACKS[0].name]
    assert newest[1].base == docker.from_env().images.get("lambench/calculator:latest").id
    (line,) = unproven(world.store, [here], MAX_AGE_DAYS, utc_now(), False)
    assert "its selftest failed (it was broken off; " in line


@pytest.mark.docker
def test_an_examination_that_fails_in_our_own_code_is_not_held_and_ends_nothing(world: World, images) -> None:
    def breaks(trial: Trial) -> Finding:
        raise ZeroDivisionError("a secret")

    driver: Driver = open_driver("docker", world.settings.run_dir)
    broken, left = selftest(driver, attacks=(Attack("breaks", "Nothing.", "network:reach", breaks),))
    assert (broken.held, left.name, left.held) == (False, LEFT_BEHIND, True)
    assert broken.how.startswith("the judge's own examination failed (ZeroDivisionError, test_run_selftest.py:")


@pytest.mark.docker
def test_some_attacks_alone_are_not_recorded(world: World, images) -> None:
    world.write_settings()
    status, answer = world.run_json_here("selftest", "--only", "image-volume", "--only", "honest-compiler")
    assert status == 0
    assert [row["name"] for row in answer["results"]] == ["image-volume", "honest-compiler", LEFT_BEHIND]
    assert answer["passed"] is True
    assert answer["recorded"] is False
    assert list(world.store.list("selftests/")) == []
    _, out, _ = world.run_here("selftest", "--only", "image-volume")
    assert "held" in out
    assert "All 2 held" in out


@pytest.mark.docker
def test_a_missing_base_image_is_one_line(world: World, images) -> None:
    world.write_settings()
    status, _, err = world.run_here("selftest", "--base", "lambench/absent:latest")
    assert status == 3
    assert "make images" in err
    assert list(world.store.list("selftests/")) == []


@pytest.mark.docker
@pytest.mark.soak
def test_a_whole_selftest_is_recorded_signed_and_soon_done(world: World, images) -> None:
    driver: Driver = open_driver("docker", world.settings.run_dir)
    key = SigningKey.create(world.settings.key_file)
    record = run_selftest(world.store, driver, key)
    assert [result.name for result in record.results if not result.held] == []
    assert len(record.results) > 40
    assert record.seconds < 300
    newest = last_selftest(world.store, platform.node(), driver.engine)
    assert newest is not None
    stored = world.store.get(newest[0])
    assert check_signature(stored, [key.public]) == key.public
    assert json.loads(stored)["passed"] is True
    now = record.started + timedelta(days=1)
    assert unproven(world.store, [result_of(platform.node(), driver.engine)], MAX_AGE_DAYS, now, False) == []

"""The record of a selftest, and the gate that asks for it."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import docker
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.evaluation.host_selftest import (
    AttackRecord,
    SelftestRecord,
    last_selftest,
    run_selftest,
    store_selftest,
    unproven,
)
from judge.records.records import Origin, Result
from judge.records.signing import SigningKey, check_signature
from judge.version import judge_version
from sandbox.driver import Driver
from sandbox.drivers.open_driver import open_driver
from sandbox.selftest.attack import Attack, Finding, Trial
from sandbox.selftest.catalog import ATTACKS
from sandbox.selftest.run import LEFT_BEHIND, AttackResult, selftest
from submissions.records import utc_now
from submissions.store.local import LocalStore
from tests.world.board_records import SUITE, good_metrics, result, submission
from tests.world.judged import all_held
from tests.world.world import World

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
ENGINE = "Docker 20.10.24 (runc 1.1.5, Linux 6.1.0, cgroup v2)"
MAX_AGE_DAYS = 30.0


def selftest_of(
    host: str = "gpu-1", engine: str = ENGINE, started: datetime = NOON, held: bool = True, passed: bool | None = None
) -> SelftestRecord:
    return SelftestRecord(
        host=host,
        engine=engine,
        driver="docker",
        judge_version=judge_version(),
        judge_commit="",
        guest="0" * 16,
        base=f"sha256:{'0' * 64}",
        started=started,
        seconds=120.0,
        results=(
            *all_held(),
            AttackRecord(name="gain-root", tries="It gains root.", held=held, how="as seen", seconds=1.0),
        ),
        passed=held if passed is None else passed,
    )


def result_of(host: str = "gpu-1", engine: str = ENGINE, driver: str = "docker") -> Result:
    made = result(submission("emt"), SUITE.tasks[0], good_metrics(0.5)["crystals"], driver=driver)
    origin = Origin(host=host, engine=engine, driver=driver)
    return made.model_copy(update={"provenance": made.provenance.model_copy(update={"origin": origin})})


@dataclass
class Gate:
    """A store with selftests, and whether it lets a result of gpu-1 pass."""

    store: LocalStore

    def doubts(self, *results: Result, now: datetime = NOON, allow_process: bool = False) -> list[str]:
        return unproven(self.store, results or (result_of(),), MAX_AGE_DAYS, now, allow_process)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(LocalStore(tmp_path))


def test_a_host_without_a_selftest_is_named(gate: Gate) -> None:
    (line,) = gate.doubts()
    assert "gpu-1" in line
    assert ENGINE in line
    assert "judge selftest" in line
    store_selftest(gate.store, selftest_of())
    assert gate.doubts() == []


def test_a_selftest_of_another_host_or_engine_proves_nothing(gate: Gate) -> None:
    store_selftest(gate.store, selftest_of(host="gpu-2"))
    store_selftest(gate.store, selftest_of(engine="Docker 28.2.2 (runc 1.2.5, Linux 6.18.0, cgroup v2)"))
    assert "no selftest" in gate.doubts()[0]
    assert gate.doubts(result_of(host="gpu-2")) == []


def test_hosts_whose_names_share_a_folder_are_told_apart(gate: Gate) -> None:
    store_selftest(gate.store, selftest_of(host="gpu.1"))
    assert last_selftest(gate.store, "gpu-1", ENGINE) is None
    assert last_selftest(gate.store, "gpu.1", ENGINE) is not None


def test_a_failed_selftest_is_named_with_what_failed(gate: Gate) -> None:
    key = store_selftest(gate.store, selftest_of(held=False))
    (line,) = gate.doubts()
    assert "gain-root" in line
    assert key in line


@pytest.mark.parametrize("record", [selftest_of(held=False, passed=True), selftest_of(passed=False)])
def test_a_record_that_contradicts_itself_proves_nothing(gate: Gate, record: SelftestRecord) -> None:
    store_selftest(gate.store, record)
    assert len(gate.doubts()) == 1


def test_a_selftest_that_tried_nothing_proves_nothing(gate: Gate) -> None:
    store_selftest(gate.store, selftest_of().model_copy(update={"results": ()}))
    assert len(gate.doubts()) == 1


@pytest.mark.parametrize("missing", [ATTACKS[0].name, LEFT_BEHIND])
def test_a_selftest_that_left_an_attack_out_proves_nothing(gate: Gate, missing: str) -> None:
    record = selftest_of()
    left = tuple(result for result in record.results if result.name != missing)
    store_selftest(gate.store, record.model_copy(update={"results": left}))
    assert "did not try all attacks" in gate.doubts()[0]


@pytest.mark.parametrize(("n_attacks", "proves"), [(39, False), (40, True)])
def test_a_selftest_by_another_version_needs_forty_attacks(gate: Gate, n_attacks: int, proves: bool) -> None:
    changed = {"judge_version": "0.0.1", "results": all_held()[:n_attacks]}
    store_selftest(gate.store, selftest_of().model_copy(update=changed))
    assert (gate.doubts() == []) == proves


def test_what_was_judged_in_a_broken_sandbox_is_refused_though_it_was_corrected(gate: Gate) -> None:
    failed = store_selftest(gate.store, selftest_of(started=NOON - timedelta(days=1), held=False))
    store_selftest(gate.store, selftest_of(started=NOON))
    assert gate.doubts() == []
    (line,) = gate.doubts(named(gate, failed, NOON))
    assert f"before the judging failed (gain-root; {failed}): judge rejudge" in line
    gate.store.delete(failed)
    (line,) = gate.doubts(named(gate, failed, NOON))
    assert f"({failed}) is gone: restore it" in line


def test_the_newest_selftest_decides(gate: Gate) -> None:
    store_selftest(gate.store, selftest_of(started=NOON - timedelta(days=2)))
    store_selftest(gate.store, selftest_of(started=NOON - timedelta(days=1), held=False))
    assert len(gate.doubts()) == 1
    store_selftest(gate.store, selftest_of(started=NOON))
    assert gate.doubts() == []


@given(age=st.timedeltas(timedelta(minutes=-4), timedelta(days=90)))
def test_a_selftest_holds_for_the_set_age_and_no_longer(tmp_path_factory: pytest.TempPathFactory, age) -> None:
    gate = Gate(LocalStore(tmp_path_factory.mktemp("store")))
    store_selftest(gate.store, selftest_of(started=NOON - age))
    assert (gate.doubts() == []) == (age <= timedelta(days=MAX_AGE_DAYS))


def named(gate: Gate, key: str, measured: datetime) -> Result:
    """A result that names the selftest `key`, measured then."""
    made = result_of()
    origin = made.provenance.origin.model_copy(update={"selftest": key})
    provenance = made.provenance.model_copy(update={"origin": origin})
    return made.model_copy(update={"provenance": provenance, "measured": measured})


def test_what_was_proven_when_it_was_measured_stays_so(gate: Gate) -> None:
    """A kernel that is replaced takes no result back: the selftest that it names was young when it was measured."""
    key = store_selftest(gate.store, selftest_of(started=NOON))
    year_later = NOON + timedelta(days=365)

    def refused(measured: datetime, selftest: str = key) -> list[str]:
        return unproven(gate.store, [named(gate, selftest, measured)], MAX_AGE_DAYS, year_later, False)

    assert not refused(NOON + timedelta(days=29))
    assert refused(NOON + timedelta(days=31))
    assert refused(NOON - timedelta(days=1))  # of a later selftest nothing follows for what came before
    assert refused(NOON + timedelta(days=1), "")
    assert refused(NOON + timedelta(days=1), "selftests/gpu-1/absent.json")
    assert refused(NOON + timedelta(days=1), "results/../selftests")
    store_selftest(gate.store, selftest_of(started=NOON + timedelta(days=5), held=False))
    assert refused(NOON + timedelta(days=1))  # but one that fails later disproves it


def test_a_selftest_of_the_future_proves_nothing(gate: Gate) -> None:
    store_selftest(gate.store, selftest_of(started=NOON + timedelta(hours=1)))
    assert "clock" in gate.doubts()[0]


def test_a_record_that_cannot_be_read_proves_nothing(gate: Gate) -> None:
    key = store_selftest(gate.store, selftest_of())
    gate.store.put(key, b"{}")
    assert "no selftest" in gate.doubts()[0]


def test_the_process_driver_is_published_only_if_that_is_allowed(gate: Gate) -> None:
    (line,) = gate.doubts(result_of(driver="process", engine=""))
    assert "isolates nothing" in line
    assert gate.doubts(result_of(driver="process", engine=""), allow_process=True) == []


def test_a_result_that_names_no_engine_is_unproven(gate: Gate) -> None:
    store_selftest(gate.store, selftest_of(host="", engine=""))
    assert len(gate.doubts(result_of(host="", engine=""), allow_process=True)) == 1


def test_one_line_for_each_host_and_engine(gate: Gate) -> None:
    results = [result_of(host=host) for host in ("b", "a", "b", "a")] + [result_of(driver="process")] * 2
    assert [line.split(" ", 1)[0].rstrip(":") for line in gate.doubts(*results)] == ["gpu-1", "a", "b"]


@given(host=st.text(max_size=300))
def test_every_host_name_has_a_place(tmp_path_factory: pytest.TempPathFactory, host: str) -> None:
    store = LocalStore(tmp_path_factory.mktemp("store"))
    try:
        record = selftest_of(host=host)
        record.model_dump_json()
    except ValueError:  # no text that could be stored
        return
    key = store_selftest(store, record)
    found = last_selftest(store, host, ENGINE)
    assert found == (key, record)


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
    found = last_selftest(world.store, platform.node(), driver.engine)
    assert found is not None
    assert ([result.name for result in found[1].results], found[1].passed) == (seen, False)
    assert seen == [ATTACKS[0].name]
    assert found[1].base == docker.from_env().images.get("lambench/calculator:latest").id
    (line,) = unproven(world.store, [here], MAX_AGE_DAYS, utc_now(), False)
    assert "its selftest failed (it was broken off; " in line


@pytest.mark.docker
def test_an_examination_that_fails_in_our_own_code_is_not_held_and_ends_nothing(world: World, images) -> None:
    def breaks(trial: Trial) -> Finding:
        raise ZeroDivisionError("a secret")

    driver: Driver = open_driver("docker", world.settings.run_dir)
    broken, left = selftest(driver, attacks=(Attack("breaks", "Nothing.", "network:reach", breaks),))
    assert (broken.held, left.name, left.held) == (False, LEFT_BEHIND, True)
    assert broken.how.startswith("our own examination failed (ZeroDivisionError, test_host_selftest.py:")


@pytest.mark.docker
def test_some_attacks_alone_are_not_recorded(world: World, images) -> None:
    world.write_settings()
    status, said = world.run_json_here("selftest", "--only", "image-volume", "--only", "honest-compiler")
    assert status == 0
    assert [row["name"] for row in said["results"]] == ["image-volume", "honest-compiler", LEFT_BEHIND]
    assert said["passed"] is True
    assert said["recorded"] is False
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
    found = last_selftest(world.store, platform.node(), driver.engine)
    assert found is not None
    stored = world.store.get(found[0])
    assert check_signature(stored, [key.public]) == key.public
    assert json.loads(stored)["passed"] is True
    now = record.started + timedelta(days=1)
    assert unproven(world.store, [result_of(platform.node(), driver.engine)], MAX_AGE_DAYS, now, False) == []

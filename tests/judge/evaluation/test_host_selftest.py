"""Publishing requires a selftest of the host and engine of each result."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.evaluation.host_selftest import (
    SelftestRecord,
    last_selftest,
    store_selftest,
    unproven,
)
from judge.records.records import Result
from sandbox.selftest.catalog import ATTACKS
from sandbox.selftest.run import LEFT_BEHIND
from submissions.store.local import LocalStore
from tests.judge.evaluation.selftest_records import ENGINE, MAX_AGE_DAYS, NOON, result_of, selftest_of
from tests.world.judged import all_held


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


def test_hosts_whose_names_share_a_folder_are_distinguished(gate: Gate) -> None:
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
    """After the kernel was replaced, older results stay proven: their selftest was recent when they were measured."""
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


def test_a_selftest_of_a_clock_that_was_ahead_does_not_stand_before_a_later_one(gate: Gate) -> None:
    ahead = store_selftest(gate.store, selftest_of(started=NOON + timedelta(days=300)))
    now = store_selftest(gate.store, selftest_of(started=NOON - timedelta(minutes=3)))
    assert gate.doubts() == []
    assert gate.doubts(named(gate, ahead, NOON)) == []
    newest = last_selftest(gate.store, "gpu-1", ENGINE, NOON)
    assert newest is not None
    assert newest[0] == now


def test_a_selftest_that_failed_while_the_clock_was_ahead_counts_until_it_is_deleted(gate: Gate) -> None:
    ahead = store_selftest(gate.store, selftest_of(started=NOON + timedelta(days=300), held=False))
    store_selftest(gate.store, selftest_of())
    (line,) = gate.doubts()
    assert f"(gain-root; {ahead}): set the clock, delete this record of the future, correct it" in line
    gate.store.delete(ahead)
    assert gate.doubts() == []


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
    newest = last_selftest(store, host, ENGINE)
    assert newest == (key, record)

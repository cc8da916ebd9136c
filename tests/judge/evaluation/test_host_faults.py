"""Faults of this host while a unit is observed: tried again, then held; which faults a checkpoint survives."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.evaluation import runner
from judge.evaluation.machine import Machine
from judge.evaluation.unit_report import Did
from judge.records.attempts import read_history
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.rundir import RunDir
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from tests.judge.evaluation.stand_in_kinds import Breaks, Noisy, starts, submitted
from tests.world.users import as_a_user_without_access
from tests.world.world import World


def test_a_noisy_host_is_tried_three_times_then_held_and_never_published(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "RETRY_S", 0.0)
    submission = submitted(world, "pass")
    unit = world.unit(submission, Noisy())
    report = world.run_unit(unit)
    assert (report.did, report.fault, report.verdict) == (Did.HELD, FaultCause.NOISY_HOST, None)
    assert "31 % longer" in report.sentence
    assert "--retry-held" in report.sentence
    assert starts(world) == len(read_history(world.store, unit.prefix).faults) == 3
    assert world.run_unit(unit).did is Did.HELD
    assert starts(world) == 3
    assert not world.results()
    assert not list(world.store.list("observations/"))


def test_what_was_kept_outlives_a_fault_of_the_host_but_not_one_of_our_code(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second try continues from the first; the third does not get the state on which our own code failed."""
    monkeypatch.setattr(runner, "RETRY_S", 0.0)
    kind = Breaks()
    unit = world.unit(submitted(world, "pass"), kind)
    assert world.run_unit(unit).verdict is Verdict.OK
    assert kind.found == [None, 1.0, None]
    faults = read_history(world.store, unit.prefix).faults
    assert [end.fault for end in faults] == [FaultCause.NOISY_HOST, FaultCause.MEASURE]
    assert not list((world.root / "run" / "checkpoints").iterdir())


def test_a_run_directory_of_another_user_is_named_by_the_first_observation(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    RunDir(run_dir)

    def open_sandbox() -> ProcessDriver:
        return ProcessDriver(RunDir(run_dir))

    machine = Machine(open_sandbox, hardware=lambda gpu: "", gpus=(), say=lambda line: None, run_dir=run_dir)
    with as_a_user_without_access(run_dir):
        machine.clear()
        with pytest.raises(JudgeFault, match=f"run directory {run_dir} .*: set run_dir"):
            machine.sandbox()

"""`--budget`: started units are finished, units that do not fit are left, and neither is a fault."""

from __future__ import annotations

import pytest

from judge.evaluation.estimate import UNIT_S
from judge.evaluation.evaluate import in_words
from judge.evaluation.unit_report import Did
from submissions.records import PreflightReport, Submission, Timing
from tests.world.small_data import SLOW_EMT
from tests.world.world import World


def known(world: World, submission: Submission, seconds: float) -> None:
    """Records timings by which each of its units of six frames is expected to take so long."""
    timing = Timing(n_atoms=8, seconds=(seconds - UNIT_S) / 6)
    record = submission.model_copy(update={"preflight": PreflightReport(checks=(), timings=(timing,), startup_s=0.0)})
    world.store.put(f"submissions/{submission.id}/submission.json", record.model_dump_json().encode())


def test_a_budget_finishes_what_it_began_and_says_what_is_left(world: World) -> None:
    """A unit is expected to take 48 s and takes at least 2.4 s: of a budget of fifty seconds one fits.

    A busy machine may use up to two seconds before it begins.
    """
    submission = world.submit("slow", SLOW_EMT.format(seconds=0.4))
    known(world, submission, 48.0)
    summary, output = world.evaluate(budget_s=50.0)
    assert [(unit.task, unit.did) for unit in summary.units] == [("copper", Did.OBSERVED), ("nickel", Did.LEFT)]
    assert "nickel  left: it takes about 48 s, and" in output
    assert summary.exit_status == 0
    assert summary.left_s == pytest.approx(48.0)
    assert "Of 2 units: 1 judged, 1 left, since the budget is used up." in in_words(summary)
    command = f"judge evaluate --all --budget {50 / 3600:g}"
    assert f"To judge the units that are left (about 48 s): {command}" in in_words(summary)
    assert len(list(world.store.list("attempts/"))) == 3  # claim, beat and end of the one
    again, _ = world.evaluate()
    assert [(unit.task, unit.did) for unit in again.units] == [("copper", Did.NOTHING), ("nickel", Did.OBSERVED)]


def test_what_no_longer_fits_is_left_and_what_is_shorter_is_judged(world: World) -> None:
    long, short = world.submit("long"), world.submit("short")
    known(world, long, 50.0)
    known(world, short, 1.0)
    summary, _ = world.evaluate(budget_s=30.0, tasks=("copper",))
    assert {unit.submission: unit.did for unit in summary.units} == {long.id: Did.LEFT, short.id: Did.OBSERVED}


def test_without_an_estimate_units_are_begun_until_the_budget_is_used_up(world: World) -> None:
    world.submit("slow", SLOW_EMT.format(seconds=0.4))
    summary, output = world.evaluate(budget_s=2.0)
    assert [unit.did for unit in summary.units] == [Did.OBSERVED, Did.LEFT]
    assert "the budget of 2 s is used up" in output
    assert summary.left_s is None


def test_measuring_is_not_kept_back_by_a_budget(world: World) -> None:
    world.submit("emt")
    world.evaluate()
    for key in list(world.store.list("results/")):
        world.store.delete(key)
    summary, _ = world.evaluate(budget_s=1e-9)
    assert [unit.did for unit in summary.units] == [Did.MEASURED] * 2


def test_the_command_takes_hours(world: World) -> None:
    world.write_settings()
    world.submit("emt")
    status, _, err = world.run("evaluate", "--all", "--budget", "0")
    assert (status, err.strip()) == (2, "judge: --budget must be more than 0 hours, not 0")
    status, answer = world.run_json("evaluate", "--all", "--budget", "1e-9")
    assert status == 0
    assert isinstance(answer, dict)
    assert answer["counts"] == {"left": 2}

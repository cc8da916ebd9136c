"""Estimates compared with estimates by hand, and `judge plan`, which shows them."""

from __future__ import annotations

import pytest
from rich.console import Console

from judge.cli.maintainer.plan import Forecast, forecast_of
from judge.evaluation.budget import Budget
from judge.evaluation.estimate import Cost, ModelSpeed, cost_of, fit_line, speed_of, total_of
from judge.evaluation.plan import Step
from judge.evaluation.request import Request
from judge.evaluation.work_plan import plan_work
from submissions.progress import Reporter
from submissions.records import PreflightReport, Submission, Timing
from tasks.kind import Work
from tests.world.world import World

# 30 ms a call and 0.5 ms an atom.
TIMINGS = tuple(Timing(n_atoms=n, seconds=0.03 + 5e-4 * n) for n in (3, 4, 9, 12, 108))


def timed(world: World, submission: Submission, timings: tuple[Timing, ...] = TIMINGS, startup_s: float = 2.0) -> None:
    """Records `submission` with these results of the preflight."""
    report = PreflightReport(checks=(), timings=timings, startup_s=startup_s, device="cpu")
    record = submission.model_copy(update={"preflight": report})
    world.store.put(f"submissions/{submission.id}/submission.json", record.model_dump_json().encode())


def test_a_line_is_found_again() -> None:
    per_call, per_atom = fit_line(TIMINGS)
    assert per_call == pytest.approx(0.03)
    assert per_atom == pytest.approx(5e-4)


def test_least_squares_by_hand() -> None:
    """Three points off the line: slope = Σ(n − n̄)(t − t̄) / Σ(n − n̄)² = 6 / 8, and a = t̄ − 3 b."""
    points = [Timing(n_atoms=n, seconds=s) for n, s in ((1, 2.0), (3, 4.0), (5, 5.0))]
    assert fit_line(points) == pytest.approx((11 / 3 - 9 / 4, 3 / 4))


def test_neither_part_is_negative() -> None:
    """If the cost grows faster than the number of atoms, the best line would start below zero: it starts at zero."""
    per_call, per_atom = fit_line([Timing(n_atoms=n, seconds=1e-4 * n**2) for n in (4, 8, 108)])
    assert per_call == 0
    assert per_atom == pytest.approx(1e-4 * (4**3 + 8**3 + 108**3) / (4**2 + 8**2 + 108**2))
    per_call, per_atom = fit_line([Timing(n_atoms=4, seconds=0.2), Timing(n_atoms=12, seconds=0.1)])
    assert per_call == pytest.approx(0.15)
    assert per_atom == 0


def test_of_one_size_alone_time_is_taken_to_go_as_the_atoms() -> None:
    assert fit_line([Timing(n_atoms=4, seconds=0.2), Timing(n_atoms=4, seconds=0.4)]) == pytest.approx((0, 0.075))


def test_a_preflight_that_timed_nothing_tells_no_speed() -> None:
    assert speed_of(PreflightReport(checks=())) is None
    assert cost_of(Work(10, 100), None, 60.0) == Cost(None)


def test_the_cost_of_work_by_hand_and_its_limit() -> None:
    speed = ModelSpeed(0.03, 5e-4, startup_s=2.0)
    assert cost_of(Work(1000, 50_000), speed, 600.0) == Cost(2.0 + 30.0 + 25.0, limited=False)
    assert cost_of(Work(1000, 50_000), speed, 50.0) == Cost(2.0 + 50.0, limited=True)
    assert total_of([Cost(10.0), Cost(None), Cost(52.0, limited=True)]) == (62.0, 1, 1)


def test_a_budget_begins_what_will_end_within_it() -> None:
    now = [100.0]
    budget = Budget(10.0, {"short": 3.0, "long": 8.0, "unknown": None}, clock=lambda: now[0])
    assert [budget.refuses(name) for name in ("short", "long", "unknown")] == [None, None, None]
    now[0] += 4.0
    assert budget.refuses("short") is None
    assert budget.refuses("long") == "it takes about 8 s, and 6 s of the budget are left"
    assert budget.refuses("unknown") is None
    now[0] += 6.0
    assert budget.refuses("unknown") == "the budget of 10 s is used up"
    assert budget.refuses("short") == "the budget of 10 s is used up"


def forecast(world: World, **request: object) -> Forecast:
    """The forecast of `judge plan`, made in this process."""
    return forecast_of(plan_work(world.workspace, Request(**request), Reporter(Console(quiet=True))))  # type: ignore[arg-type]


def test_plan_tells_the_time_by_hand_and_what_is_done_costs_nothing(world: World) -> None:
    """Two data sets of six frames of eight atoms: 6 × 30 ms + 48 × 0.5 ms each, and two seconds to start."""
    fast, unknown = world.submit("fast"), world.submit("unknown")
    timed(world, fast)
    estimate = forecast(world)
    units = {(unit.submission, unit.task): unit for unit in estimate.units}
    copper_unit = units[fast.id, "copper"]
    assert (copper_unit.step, copper_unit.frames, copper_unit.atoms, copper_unit.limited) == (
        Step.OBSERVE,
        6,
        48,
        False,
    )
    by_hand = 2.0 + 6 * 0.03 + 48 * 5e-4
    assert copper_unit.seconds == pytest.approx(by_hand)
    assert units[unknown.id, "nickel"].seconds is None
    assert estimate.seconds == pytest.approx(2 * by_hand)
    assert estimate.unknown == 2
    of_fast = next(row for row in estimate.submissions if row.submission == fast.id)
    assert of_fast.per_call_s == pytest.approx(0.03)
    assert of_fast.per_atom_s == pytest.approx(5e-4)
    assert not list(world.store.list("attempts/"))  # nothing was run
    world.evaluate(ids=(fast.id,), tasks=("copper",))
    estimate = forecast(world, ids=(fast.id,))
    assert [(unit.step, unit.frames) for unit in estimate.units] == [(Step.DONE, 0), (Step.OBSERVE, 6)]
    assert estimate.seconds == pytest.approx(by_hand)


def test_plan_says_where_the_time_limit_binds_and_what_is_unknown(world: World) -> None:
    world.write_settings()
    slow, unknown = world.submit("slow"), world.submit("unknown")
    timed(world, slow, (Timing(n_atoms=8, seconds=100.0),))
    (unit,) = forecast(world, ids=(slow.id,), tasks=("copper",)).units
    assert (unit.seconds, unit.limited) == (62.0, True)  # the task has 60 s of the 600 it would take
    status, out, err = world.run("plan")
    assert status == 0, err
    lines = [line.split() for line in out.splitlines()]
    assert [slow.id, "copper", "observe", "6", "48", "1", "min", "2", "s", "(limit)"] in lines
    assert [unknown.id, "nickel", "observe", "6", "48", "unknown"] in lines
    assert [slow.id, "2/2", "2", "min", "4", "s", "0", "ms", "1.25e+07", "µs", "cpu"] in lines
    assert "In all 2 min 4 s, and 2 units of unknown time, one after another." in out
    assert "will run into the time limit" in out


def test_plan_for_a_machine(world: World) -> None:
    world.write_settings()
    submission = world.submit("fast")
    timed(world, submission)
    status, answer = world.run_json("plan", "--task", "copper")
    assert status == 0
    assert isinstance(answer, dict)
    assert answer["units"][0] == {
        "submission": submission.id,
        "task": "copper",
        "step": "observe",
        "frames": 6.0,
        "atoms": 48.0,
        "seconds": pytest.approx(2.204),
        "limited": False,
    }

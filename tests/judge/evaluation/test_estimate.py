"""Estimates compared with estimates by hand, and `judge plan`, which shows them."""

from __future__ import annotations

import numpy as np
import pytest
from rich.console import Console

from judge.cli.maintainer.plan import Forecast, forecast_of
from judge.evaluation.budget import Budget
from judge.evaluation.estimate import (
    DENSITY,
    DENSITY_POWERS,
    POWERS,
    UNIT_S,
    CallTime,
    Cost,
    ModelSpeed,
    cost_of,
    fit_call_time,
    speed_of,
    total_of,
)
from judge.evaluation.plan import Step
from judge.evaluation.request import Request
from judge.evaluation.work_plan import plan_work
from submissions.progress import Reporter
from submissions.records import PreflightReport, Submission, Timing
from tasks.model.work import Work
from tests.world.world import World

# 30 ms a call and 0.5 ms an atom.
TIMINGS = tuple(Timing(n_atoms=n, seconds=0.03 + 5e-4 * n) for n in (3, 4, 9, 12, 108))


def work(times: float, n_atoms: int, periodic: bool = False) -> Work:
    """A structure of that many atoms, sent so often."""
    return Work(np.array([float(n_atoms)]), np.array([DENSITY if periodic else 0.0]), np.array([float(times)]))


def timed(world: World, submission: Submission, timings: tuple[Timing, ...] = TIMINGS, startup_s: float = 2.0) -> None:
    """Records `submission` with these results of the preflight."""
    report = PreflightReport(checks=(), timings=timings, startup_s=startup_s, device="cpu")
    record = submission.model_copy(update={"preflight": report})
    world.store.put(f"submissions/{submission.id}/submission.json", record.model_dump_json().encode())


@pytest.mark.parametrize("power", POWERS)
def test_the_growth_of_the_cost_is_found_again(power: float) -> None:
    timings = [Timing(n_atoms=n, seconds=5e-4 + 2e-6 * n**power) for n in (3, 9, 18, 36, 72, 144, 288)]
    call = fit_call_time(timings)
    assert call is not None
    assert call == pytest.approx((5e-4, 2e-6, power, 0.0))
    assert call.seconds(np.array([1503.0]), np.zeros(1)) == pytest.approx(5e-4 + 2e-6 * 1503**power)


@pytest.mark.parametrize("density_power", DENSITY_POWERS)
def test_the_growth_with_the_density_is_found_again(density_power: float) -> None:
    timings = [
        Timing(n_atoms=n, seconds=5e-3 + 1e-3 * n * (density / DENSITY) ** density_power, density=density)
        for density in (0.045, 0.1)
        for n in (8, 16, 32, 64, 128)
    ]
    call = fit_call_time(timings)
    assert call == pytest.approx((5e-3, 1e-3, 1.0, density_power))
    assert call is not None
    middle = float(call.seconds(np.array([100.0]), np.array([0.08]))[0])
    assert middle == pytest.approx(5e-3 + 0.1 * 1.6**density_power)


def test_noise_is_not_taken_for_growth() -> None:
    """300 times a line with 5 % noise, up to 256 atoms: at 1,500 atoms the estimate is within a factor of two."""
    rng = np.random.default_rng(1)
    sizes = (4, 8, 8, 12, 8, 16, 32, 64, 128, 256)
    for _ in range(300):
        timings = [Timing(n_atoms=n, seconds=(0.02 + 1e-3 * n) * (1 + 0.05 * rng.normal())) for n in sizes]
        call = fit_call_time(timings)
        assert call is not None
        assert 0.5 < float(call.seconds(np.array([1500.0]), np.zeros(1))[0]) / 1.52 < 2.0


def test_least_squares_of_relative_deviations_by_hand() -> None:
    """Minimise Σ n ((a + b n)/t − 1)² for (1, 2), (3, 4), (5, 5): the normal equations are solved here."""
    n, t = np.array([1.0, 3.0, 5.0]), np.array([2.0, 4.0, 5.0])
    columns = np.stack([1 / t, n / t], axis=1)
    constant, factor = np.linalg.solve(columns.T @ (n[:, None] * columns), columns.T @ n)
    call = fit_call_time([Timing(n_atoms=int(size), seconds=float(s)) for size, s in zip(n, t, strict=True)])
    assert call == pytest.approx((constant, factor, 1.0, 0.0))


def test_neither_part_is_negative() -> None:
    call = fit_call_time([Timing(n_atoms=4, seconds=0.2), Timing(n_atoms=12, seconds=0.1)])
    assert call is not None
    assert call.factor_s == 0
    # The constant c minimises 4 (c/0.2 − 1)² + 12 (c/0.1 − 1)².
    assert call.constant_s == pytest.approx((4 / 0.2 + 12 / 0.1) / (4 / 0.2**2 + 12 / 0.1**2))


def test_of_one_size_alone_time_is_taken_to_go_as_the_atoms() -> None:
    timings = [Timing(n_atoms=4, seconds=0.2), Timing(n_atoms=4, seconds=0.4)]
    assert fit_call_time(timings) == pytest.approx((0, 0.075, 1.0, 0.0))


def test_a_preflight_that_timed_nothing_tells_no_speed() -> None:
    assert speed_of(PreflightReport(checks=())) is None
    assert cost_of(work(10, 5), None, 60.0) == Cost(None)


def test_a_container_takes_its_session_or_in_old_reports_its_start() -> None:
    old = PreflightReport(checks=(), timings=TIMINGS, startup_s=2.0)
    for report, session_s in ((old, 2.0), (old.model_copy(update={"session_s": 3.5}), 3.5)):
        cost = cost_of(work(1, 100), speed_of(report), 60.0)
        assert cost == Cost(pytest.approx(UNIT_S + session_s + 0.03 + 0.05))


def test_crystals_and_molecules_have_a_speed_each_and_an_unanswered_sort_takes_no_time() -> None:
    molecules = tuple(timing.model_copy(update={"density": 0.0}) for timing in TIMINGS)
    crystals = tuple(Timing(n_atoms=n, seconds=0.1 * n, density=0.05) for n in (4, 8, 16))
    both = speed_of(PreflightReport(checks=(), timings=(*molecules, *crystals)))
    assert both is not None
    mixed = work(10, 50, periodic=True) + work(10, 50)
    assert both.seconds(mixed) == pytest.approx(10 * 0.1 * 50 + 10 * (0.03 + 5e-4 * 50))
    molecular = speed_of(PreflightReport(checks=(), timings=molecules))
    assert molecular is not None
    assert molecular.crystal is None
    assert molecular.seconds(mixed) == pytest.approx(10 * (0.03 + 5e-4 * 50))
    unknown = speed_of(PreflightReport(checks=(), timings=TIMINGS))  # it was not recorded which they were
    assert unknown is not None
    assert unknown.seconds(mixed) == pytest.approx(20 * (0.03 + 5e-4 * 50))


def test_the_cost_of_work_by_hand_and_its_limit() -> None:
    line = CallTime(0.03, 5e-4, 1.0)
    speed = ModelSpeed(line, line, session_s=2.0)
    assert cost_of(work(1000, 50), speed, 600.0) == Cost(pytest.approx(UNIT_S + 2.0 + 30.0 + 25.0), limited=False)
    assert cost_of(work(1000, 50), speed, 50.0) == Cost(UNIT_S + 2.0 + 50.0, limited=True)
    assert cost_of(work(1000, 50), speed, 50.0, n_sessions=2) == Cost(UNIT_S + 4.0 + 50.0, limited=True)
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
    by_hand = UNIT_S + 2.0 + 6 * 0.03 + 48 * 5e-4
    assert copper_unit.seconds == pytest.approx(by_hand)
    assert units[unknown.id, "nickel"].seconds is None
    assert estimate.seconds == pytest.approx(2 * by_hand)
    assert estimate.unknown == 2
    of_fast = next(row for row in estimate.submissions if row.submission == fast.id)
    assert of_fast.crystal == of_fast.molecule == pytest.approx((0.03, 5e-4, 1.0, 0.0))
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
    assert (unit.seconds, unit.limited) == (UNIT_S + 62.0, True)  # the task has 60 s of the 600 it would take
    status, out, err = world.run("plan")
    assert status == 0, err
    lines = [line.split() for line in out.splitlines()]
    assert [slow.id, "copper", "observe", "6", "48", "1", "min", "2", "s", "(limit)"] in lines
    assert [unknown.id, "nickel", "observe", "6", "48", "unknown"] in lines
    assert [slow.id, "2/2", "2", "min", "4", "s", "1.25e+06", "ms", "1.25e+06", "ms", "cpu"] in lines
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
        "mlipaudit": [],
        "trainings": 0,
        "shards": 0,
        "step": "observe",
        "frames": 6.0,
        "atoms": 48.0,
        "seconds": pytest.approx(UNIT_S + 2.204),
        "limited": False,
    }

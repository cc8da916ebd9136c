"""`judge plan`: what is left to be judged, and an estimate of the time. Runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

import numpy as np
from pydantic import Field
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from judge.cli.output import print_lines
from judge.evaluation.equal_guests import counts_by_guest
from judge.evaluation.estimate import DENSITY, CallTime, Cost, speed_of, total_of
from judge.evaluation.plan import Planned, Step
from judge.evaluation.request import Request
from judge.evaluation.schedule import wall_time_s
from judge.evaluation.work_plan import WorkPlan, plan_work
from judge.workspace import open_workspace
from submissions.progress import Reporter, count, duration
from submissions.records import Record, Submission
from submissions.tables import plain_table, table_console

ASSUMPTIONS = (
    "Estimated from the times of single structures in the preflight, as a + b × atomsᵖ for each call, with a b that "
    "grows with the density of periodic structures. A model that takes whole batches may need less; relaxations are "
    "assumed to have a usual number of steps; a structure of a sort that got no answer in the preflight takes no time. "
    "The estimate holds for the preflight's device only."
)


OF_100_ATOMS = ("100 atoms, crystal", "100 atoms, molecule")


class UnitHours(Record):
    """One unit: the step to do, the structures and atoms to ask, and the estimated time.

    Args:
        mlipaudit: the benchmarks of MLIPAudit that the task is part of.
        trainings: how many are left to be run; their time is that of the unit.
        shards: how many are left to be observed; likewise.
        seconds: [s]; None if it is not known.
        limited: whether it will run into the time limit of its task.
    """

    submission: str
    task: str
    mlipaudit: tuple[str, ...] = ()
    trainings: int = 0
    shards: int = 0
    step: Step
    frames: float
    atoms: float
    seconds: float | None
    limited: bool


class SubmissionHours(Record):
    """One submission: the estimated time of all its units, and the measured speed behind it.

    Args:
        seconds: of the units whose time is known.
        unknown: number of units whose time is not known.
        limited: number of units that will run into the time limit of their task.
        crystal: time of a call on a structure with three periodic directions; None if it is not known.
        molecule: time of a call on any other structure; None if it is not known.
        device: on which the preflight ran.
    """

    submission: str
    seconds: float
    unknown: int
    limited: int
    crystal: CallTime | None = None
    molecule: CallTime | None = None
    session_s: float | None = None
    device: str


class Forecast(Record):
    """What is left to be judged, and the estimated time [s].

    Args:
        workers: that share the work, each on a host of its own.
        wall_s: until they are done [s].
        by_equal_guests: number of units that no model is asked for, since a guest that is declared equal observed them;
            by the version of that guest.
    """

    suite: str
    units: tuple[UnitHours, ...]
    submissions: tuple[SubmissionHours, ...]
    seconds: float
    unknown: int
    workers: int = 1
    wall_s: float = 0.0
    skipped: tuple[str, ...] = ()
    skipped_tasks: tuple[str, ...] = ()
    by_equal_guests: dict[str, int] = Field(default_factory=dict)


def run_plan(request: Request, workers: int, as_json: bool) -> None:
    """Estimates what is left to be judged, and how many hours it will take. Runs nothing."""
    console = table_console(stderr=as_json)
    forecast = forecast_of(plan_work(open_workspace(), request, Reporter(console)), workers)
    if as_json:
        print(forecast.model_dump_json())
    else:
        _show(console, forecast, request.command)


def forecast_of(work_plan: WorkPlan, workers: int = 1) -> Forecast:
    """The estimate for a work plan, if so many workers share it."""
    units, submissions = [], []
    for _, group in groupby(work_plan.plan, key=lambda planned: planned.unit.submission.id):
        plan = list(group)
        costs = [work_plan.cost(planned) for planned in plan]
        open_parts = {p.unit.prefix: (p, cost) for p, cost in zip(plan, costs, strict=True) if _is_open_part(p)}
        units += [
            _unit_hours(work_plan, planned, cost, open_parts)
            for planned, cost in zip(plan, costs, strict=True)
            if not planned.unit.is_part
        ]
        submissions.append(_submission_hours(plan[0].unit.submission, costs))
    return Forecast(
        suite=work_plan.suite.name,
        units=tuple(units),
        submissions=tuple(submissions),
        seconds=sum(submission.seconds for submission in submissions),
        unknown=sum(submission.unknown for submission in submissions),
        workers=workers,
        wall_s=wall_time_s((work_plan.cost(planned).seconds or 0.0 for planned in work_plan.plan), workers),
        skipped=work_plan.skipped,
        skipped_tasks=work_plan.skipped_tasks,
        by_equal_guests=counts_by_guest(work_plan.plan, work_plan.common),
    )


def _is_open_part(planned: Planned) -> bool:
    return planned.unit.is_part and planned.step in (Step.OBSERVE, Step.OPEN)


def _unit_hours(
    work_plan: WorkPlan, planned: Planned, cost: Cost, open_parts: Mapping[str, tuple[Planned, Cost]]
) -> UnitHours:
    """The estimate for one task; that of its trainings or shards is part of it."""
    parts = [open_parts[part.prefix] for part in planned.unit.parts if part.prefix in open_parts]
    work = sum((work_plan.work(part) for part, _ in parts), start=work_plan.work(planned))
    n_shards = len(parts) if planned.unit.is_cut else 0
    if planned.unit.parts:
        total = total_of(cost for _, cost in parts)
        cost = Cost(None if total.unknown else total.seconds, total.limited > 0)
    return UnitHours(
        submission=planned.unit.submission.id,
        task=planned.unit.task.name,
        mlipaudit=planned.unit.task.mlipaudit,
        trainings=len(parts) - n_shards,
        shards=n_shards,
        step=planned.step,
        frames=work.frames,
        atoms=work.atoms,
        seconds=cost.seconds,
        limited=cost.limited,
    )


def _submission_hours(submission: Submission, costs: list[Cost]) -> SubmissionHours:
    speed = speed_of(submission.preflight)
    return SubmissionHours(
        submission=submission.id,
        **total_of(costs)._asdict(),
        **(speed._asdict() if speed else {}),
        device=submission.preflight.device,
    )


def _show(console: Console, forecast: Forecast, next_command: str) -> None:
    if not forecast.units:
        console.print("There is nothing to judge: submit a model with lambench-submit IMAGE.")
        return
    open_units = [unit for unit in forecast.units if unit.step is not Step.DONE]
    if open_units:
        console.print(_units_table(open_units))
    console.print(_submissions_table(forecast))
    unknown = f", and {forecast.unknown} units of unknown time" if forecast.unknown else ""
    console.print(f"In all {duration(forecast.seconds)}{unknown}, one after another.", soft_wrap=True)
    if forecast.workers > 1:
        console.print(
            f"{forecast.workers} workers, each on a host of its own: {duration(forecast.wall_s)}.", soft_wrap=True
        )
    if any(unit.limited for unit in open_units):
        console.print("(limit): it will run into the time limit of its task.", soft_wrap=True)
    for guest, number in forecast.by_equal_guests.items():
        console.print(
            f"{count(number, 'unit')} observed with the equal guest {guest}: not asked again.", soft_wrap=True
        )
    if forecast.unknown:
        console.print("Unknown: submitted before the preflight stored its timings.", soft_wrap=True)
    console.print(f"[dim]{escape(ASSUMPTIONS)}[/]", soft_wrap=True)
    if open_units:
        print_lines(console, [f"Next: {next_command}"])


def _units_table(units: list[UnitHours]) -> Table:
    of_mlipaudit = ("MLIPAudit",) if any(unit.mlipaudit for unit in units) else ()
    columns = ("submission", "task", *of_mlipaudit, "to do", "structures", "atoms", "time")
    table = plain_table(*columns, numbers=("structures", "atoms"))
    for unit in units:
        benchmarks = (", ".join(unit.mlipaudit),) if of_mlipaudit else ()
        sizes = (f"{unit.frames:,.0f}", f"{unit.atoms:,.0f}") if unit.frames else ("", "")
        to_do = f"{unit.trainings} trainings" if unit.trainings else unit.step
        to_do = f"{unit.shards} shards" if unit.shards else to_do
        limit = " (limit)" if unit.limited else ""
        table.add_row(unit.submission, unit.task, *benchmarks, to_do, *sizes, _time(unit.seconds) + limit)
    return table


def _submissions_table(forecast: Forecast) -> Table:
    table = plain_table("submission", "to do", "time", *OF_100_ATOMS, "measured on", numbers=("to do",))
    for submission in forecast.submissions:
        units = [unit for unit in forecast.units if unit.submission == submission.submission]
        to_do = sum(unit.step is not Step.DONE for unit in units)
        unknown = f" + {submission.unknown} unknown" if submission.unknown else ""
        calls = (_of_100_atoms(submission.crystal), _of_100_atoms(submission.molecule))
        time = _time(submission.seconds) + unknown
        table.add_row(submission.submission, f"{to_do}/{len(units)}", time, *calls, submission.device or "–")
    return table


def _time(seconds: float | None) -> str:
    return "unknown" if seconds is None else duration(seconds)


def _of_100_atoms(call: CallTime | None) -> str:
    """The time of a call on 100 atoms, and the power of the number of atoms with which it grows."""
    if call is None:
        return "–"
    milliseconds = 1e3 * float(call.seconds(np.array([100.0]), np.array([DENSITY]))[0])
    return f"{milliseconds:.3g} ms" + (f", atoms^{call.power:g}" if call.power > 1 else "")

"""`judge plan`: what is left to be judged, and how long it will take, before anything is spent."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from judge.cli.options import Drivers, Gpus, Json, SkipMissing, SuiteName, Tasks, asked_gpus
from judge.evaluation.estimate import Cost, speed_of, total_of
from judge.evaluation.plan import Planned, Step
from judge.evaluation.request import Request
from judge.evaluation.work_plan import WorkPlan, plan_work
from judge.workspace import open_workspace
from submissions.progress import Reporter, duration
from submissions.records import Record, Submission
from submissions.tables import plain_table, table_console

ASSUMPTIONS = (
    "Estimated from the time of single structures in the preflight, as a + b × atoms a call: a model that takes whole "
    "batches may need less; one whose cost grows faster than its atoms needs more; relaxations are counted by what is "
    "usual. On another device than the preflight's the estimate does not hold."
)


class UnitHours(Record):
    """One unit: what is to be done, how much it asks, what it takes [s] (None: not known), and if its limit binds."""

    submission: str
    task: str
    step: Step
    frames: float
    atoms: float
    seconds: float | None
    limited: bool


class SubmissionHours(Record):
    """One submission: what its units take together, and the speed that this is taken from.

    Args:
        seconds: of the units whose cost is known.
        unknown: how many are of unknown cost.
        limited: how many will run into the time limit of their task.
        device: on which the preflight ran.
    """

    submission: str
    seconds: float
    unknown: int
    limited: int
    per_call_s: float | None
    per_atom_s: float | None
    startup_s: float | None
    device: str


class Forecast(Record):
    """What is left to be judged, and how long it will take [s]."""

    suite: str
    units: tuple[UnitHours, ...]
    submissions: tuple[SubmissionHours, ...]
    seconds: float
    unknown: int
    skipped: tuple[str, ...] = ()
    skipped_tasks: tuple[str, ...] = ()


def plan_command(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="submissions; none for all")] = None,
    suite: SuiteName = None,
    task: Tasks = None,
    gpus: Gpus = "",
    driver: Drivers = None,
    skip_missing: SkipMissing = False,
    as_json: Json = False,
) -> None:
    """What is left to be judged, and about how many hours it will take. Runs nothing."""
    request = Request(
        ids=tuple(ids or ()),
        suite=suite,
        tasks=tuple(task or ()),
        gpus=asked_gpus(gpus),
        driver=driver,
        skip_missing=skip_missing,
    )
    console = table_console(stderr=as_json)
    forecast = forecast_of(plan_work(open_workspace(), request, Reporter(console)))
    if as_json:
        print(forecast.model_dump_json())
    else:
        _show(console, forecast)


def forecast_of(found: WorkPlan) -> Forecast:
    """How long what is left will take."""
    units, submissions = [], []
    by_submission: dict[str, list[Planned]] = {}
    for planned in found.plan:
        by_submission.setdefault(planned.unit.submission.id, []).append(planned)
    for of_one in by_submission.values():
        costs = [found.cost(planned) for planned in of_one]
        units += [_unit_hours(found, planned, cost) for planned, cost in zip(of_one, costs, strict=True)]
        submissions.append(_submission_hours(of_one[0].unit.submission, costs))
    return Forecast(
        suite=found.suite.name,
        units=tuple(units),
        submissions=tuple(submissions),
        seconds=sum(submission.seconds for submission in submissions),
        unknown=sum(submission.unknown for submission in submissions),
        skipped=found.skipped,
        skipped_tasks=found.skipped_tasks,
    )


def _unit_hours(found: WorkPlan, planned: Planned, cost: Cost) -> UnitHours:
    work = found.work(planned)
    return UnitHours(
        submission=planned.unit.submission.id,
        task=planned.unit.task.name,
        step=planned.step,
        frames=work.frames,
        atoms=work.atoms,
        seconds=cost.seconds,
        limited=cost.limited,
    )


def _submission_hours(submission: Submission, costs: list[Cost]) -> SubmissionHours:
    total, speed = total_of(costs), speed_of(submission.preflight)
    per_call, per_atom, startup = speed or (None, None, None)
    return SubmissionHours(
        submission=submission.id,
        seconds=total.seconds,
        unknown=total.unknown,
        limited=total.limited,
        per_call_s=per_call,
        per_atom_s=per_atom,
        startup_s=startup,
        device=submission.preflight.device,
    )


def _show(console: Console, forecast: Forecast) -> None:
    if not forecast.units:
        console.print("There is nothing to judge: submit a model with lambench-submit IMAGE.")
        return
    open_units = [unit for unit in forecast.units if unit.step is not Step.DONE]
    if open_units:
        console.print(_units_table(open_units))
    console.print(_submissions_table(forecast))
    unknown = f", and {forecast.unknown} units of unknown length" if forecast.unknown else ""
    console.print(f"In all {duration(forecast.seconds)}{unknown}, one after another.", soft_wrap=True)
    if any(unit.limited for unit in open_units):
        console.print("(limit): it will not get done in the time limit of its task.", soft_wrap=True)
    if forecast.unknown:
        console.print("Length unknown: submitted before the preflight kept its timings.", soft_wrap=True)
    console.print(f"[dim]{escape(ASSUMPTIONS)}[/]", soft_wrap=True)


def _units_table(units: list[UnitHours]) -> Table:
    table = plain_table("submission", "task", "to do", "structures", "atoms", "time", numbers=("structures", "atoms"))
    for unit in units:
        asked = (f"{unit.frames:,.0f}", f"{unit.atoms:,.0f}") if unit.frames else ("", "")
        limit = " (limit)" if unit.limited else ""
        table.add_row(unit.submission, unit.task, unit.step, *asked, _time(unit.seconds) + limit)
    return table


def _submissions_table(forecast: Forecast) -> Table:
    table = plain_table("submission", "to do", "time", "a call", "an atom", "measured on", numbers=("to do",))
    for one in forecast.submissions:
        units = [unit for unit in forecast.units if unit.submission == one.submission]
        to_do = sum(unit.step is not Step.DONE for unit in units)
        unknown = f" + {one.unknown} unknown" if one.unknown else ""
        costs = (_scaled(one.per_call_s, 1e3, "ms"), _scaled(one.per_atom_s, 1e6, "µs"))
        table.add_row(one.submission, f"{to_do}/{len(units)}", _time(one.seconds) + unknown, *costs, one.device or "–")
    return table


def _time(seconds: float | None) -> str:
    return "unknown" if seconds is None else duration(seconds)


def _scaled(seconds: float | None, factor: float, unit: str) -> str:
    return "–" if seconds is None else f"{factor * seconds:.3g} {unit}"

"""The order of one worker among several, and what it leaves to the others."""

from __future__ import annotations

from judge.evaluation.plan import Planned, Step
from judge.evaluation.unit_order import own_order, taken, without_taken
from judge.evaluation.work_plan import plan_work
from judge.records.items_file import result_path
from submissions.progress import Reporter
from tests.world.world import World


def planned(world: World, *names: str) -> list[Planned]:
    from rich.console import Console

    from judge.evaluation.request import Request

    for name in names:
        world.submit(name)
    return plan_work(world.workspace, Request(), Reporter(Console(quiet=True))).plan


def ids(plan: list[Planned]) -> list[str]:
    return list(dict.fromkeys(each.unit.submission.id for each in plan))


def test_workers_begin_at_different_submissions_and_keep_each_together(world: World) -> None:
    plan = planned(world, *"abcdefgh")
    orders = [own_order(plan, f"worker {number}", lambda id: True) for number in range(20)]
    assert len({order[0].unit.submission.id for order in orders}) > 3
    for order in orders:
        assert sorted(map(id, order)) == sorted(map(id, plan))
        assert [each.unit.task.name for each in order] == ["copper", "nickel"] * 8


def test_submissions_whose_image_is_here_come_first(world: World) -> None:
    plan = planned(world, *"abcd")
    here = set(ids(plan)[2:])
    for worker in "123":
        assert set(ids(own_order(plan, worker, here.__contains__))[:2]) == here


def test_what_others_took_comes_last_and_what_they_judged_is_left_out(world: World) -> None:
    plan = planned(world, *"abc")
    claimed, ended, judged, *free = plan
    attempts = [f"{claimed.unit.prefix}1/claim.json"]
    attempts += [f"{each.unit.prefix}1/{name}.json" for each in (ended, judged) for name in ("claim", "end")]
    known = taken(attempts, [result_path(judged.unit.submission.id, judged.unit.task.name, "0" * 32)])
    left, done = without_taken(plan, known, "worker")
    apart = [each for each in free if each.unit.submission.id != claimed.unit.submission.id]
    assert left == [*apart, claimed, ended]  # an attempt that ended in a fault has no result
    assert done == [judged]


def test_workers_at_one_submission_take_its_units_in_different_orders(world: World) -> None:
    plan = planned(world, "a")
    claimed = taken([f"{plan[0].unit.prefix}0/claim.json".replace(plan[0].unit.observation_key, "0" * 32)], ())
    orders = {tuple(p.unit.task.name for p in without_taken(plan, claimed, f"{n}")[0]) for n in range(20)}
    assert len(orders) == 2


def test_an_older_result_does_not_hide_a_unit_that_only_must_be_measured(world: World) -> None:
    unit = planned(world, "a")[0]
    keys = [f"{unit.unit.prefix}1/end.json"]
    known = taken(keys, [result_path(unit.unit.submission.id, unit.unit.task.name, "0" * 32)])
    to_measure = unit._replace(step=Step.MEASURE)
    assert without_taken([to_measure], known, "worker") == ([to_measure], [])

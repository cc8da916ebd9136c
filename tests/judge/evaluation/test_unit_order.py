"""The order of one worker among several, and what it leaves to the others."""

from __future__ import annotations

from judge.evaluation.plan import Planned, Step
from judge.evaluation.unit_order import is_judged, is_shared, own_order, taken
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


def test_only_a_unit_that_others_judged_meanwhile_is_left_out(world: World) -> None:
    claimed, ended, judged, *_ = planned(world, *"abc")
    attempts = [f"{claimed.unit.prefix}1/claim.json"]
    attempts += [f"{each.unit.prefix}1/{name}.json" for each in (ended, judged) for name in ("claim", "end")]
    known = taken(attempts, [result_path(judged.unit.submission.id, judged.unit.task.name, "0" * 32)])
    assert [is_judged(each, known) for each in (claimed, ended, judged)] == [False, False, True]
    assert not is_judged(judged._replace(step=Step.MEASURE), known)  # the result is an older one
    assert is_shared(known)
    assert not is_shared(taken(attempts[1:], ()))
    strays = ["attempts/notes", "attempts/a/notes", f"{claimed.unit.prefix}notes", f"{claimed.unit.prefix}old/notes"]
    assert taken(strays, ["results/notes"]) == taken((), ())

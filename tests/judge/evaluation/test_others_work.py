"""What a worker tries next, by what others have claimed in the store."""

from __future__ import annotations

import pytest

from judge.evaluation.others_work import OthersWork
from judge.evaluation.plan import Planned
from tests.judge.evaluation.test_unit_order import planned
from tests.world.world import World


@pytest.fixture
def plan(world: World) -> list[Planned]:
    """Two units of each of three submissions."""
    return planned(world, *"abc")


def names(plan: list[Planned]) -> list[str]:
    return [f"{each.unit.submission.id[0]} {each.unit.task.name}" for each in plan]


def claim(world: World, unit: Planned, ended: bool = False) -> None:
    world.store.put(f"{unit.unit.prefix}1/claim.json", b"{}")
    if ended:
        world.store.put(f"{unit.unit.prefix}1/end.json", b"{}")


def test_a_worker_begins_where_nobody_works_and_returns_when_nothing_else_is_left(
    world: World, plan: list[Planned]
) -> None:
    work = OthersWork(world.store, "worker")
    claim(world, plan[0])
    left, others = work.arranged(plan)
    assert names(left) == ["b copper", "b nickel", "c copper", "c nickel", "a nickel"]
    assert names(others) == ["a copper"]
    left, others = work.arranged(left[4:])
    assert names(left) == ["a nickel"]
    assert not others
    claim(world, plan[1])
    left, others = work.arranged(left)
    assert not left
    assert names(others) == ["a nickel"]


def test_a_submission_that_another_worker_comes_to_is_left_to_it(world: World, plan: list[Planned]) -> None:
    work = OthersWork(world.store, "worker")
    assert names(work.arranged(plan)[0]) == names(plan)
    claim(world, plan[1])
    assert work.arranged(plan)[0] == plan  # it is not looked at again …
    work.met(plan[1])  # … until a claim was refused
    left, others = work.arranged(plan)
    assert names(left) == ["b copper", "b nickel", "c copper", "c nickel", "a copper"]
    assert names(others) == ["a nickel"]


def test_where_others_have_ended_a_worker_goes_on_alone(world: World, plan: list[Planned]) -> None:
    claim(world, plan[0], ended=True)
    left, others = OthersWork(world.store, "worker").arranged(plan)
    assert left == plan[1:]
    assert others == plan[:1]


def test_workers_at_one_submission_take_its_units_in_different_orders(world: World, plan: list[Planned]) -> None:
    world.store.put(f"attempts/{plan[0].unit.submission.id}/other/{'0' * 32}/1/claim.json", b"{}")
    orders = {tuple(names(OthersWork(world.store, f"{n}").arranged(plan[:2])[0])) for n in range(20)}
    assert len(orders) == 2


def test_the_only_worker_does_not_look(world: World, plan: list[Planned]) -> None:
    claim(world, plan[0])
    assert OthersWork(world.store, "").arranged(plan) == (plan, [])

"""What `judge status` counts: each task of each submission once, by the result that counts."""

from __future__ import annotations

from typing import Any

import pytest

from judge.records.attempts import MAX_TRIES, unit_prefix
from judge.records.records import Claim, End, Result
from sandbox.verdict import FaultCause, Verdict
from submissions.records import utc_now
from tests.world.judged import change_result, own_key_of, submission_of
from tests.world.world import World


@pytest.fixture
def world(judged_world: World) -> World:
    return judged_world


def status(world: World) -> Any:
    code, state = world.run_json_here("status")
    assert code == 0
    return state


def add_attempts(world: World, id: str, task: str, key: str, *fields: dict[str, object]) -> None:
    """Attempts of another unit of a task, each with an end."""
    for n, each in enumerate(fields, 1):
        claim = Claim(owner="a/b/1/1/t", host="h", started=utc_now())
        end = End.model_validate({"owner": claim.owner, "ended": utc_now(), **each})
        prefix = unit_prefix(id, task, key * 32)
        world.store.put(f"{prefix}{n}/claim.json", claim.model_dump_json().encode())
        world.store.put(f"{prefix}{n}/end.json", end.model_dump_json().encode())


def add_held(world: World, id: str, task: str, key: str = "1") -> None:
    add_attempts(world, id, task, key, *[{"fault": FaultCause.GPU, "sentence": "no GPU"}] * MAX_TRIES)


def remove(world: World, id: str, task: str) -> None:
    for room in ("results", "attempts"):
        for key in list(world.store.list(f"{room}/{id}/{task}/")):
            world.store.delete(key)


def test_a_held_round_beside_a_result_hides_no_task_that_is_left(world: World) -> None:
    id = submission_of(world)
    remove(world, id, "nickel")
    add_held(world, id, "copper")
    state = status(world)
    assert (state["n_units"], state["n_judged"], state["held"]) == (2, 1, [])
    assert state["left_s"] > 0


def test_a_task_whose_shards_are_held_is_held_once(world: World) -> None:
    id = submission_of(world)
    remove(world, id, "nickel")
    add_held(world, id, "nickel", "1")
    add_held(world, id, "nickel", "2")
    state = status(world)
    assert state["held"] == [{"submission": id, "task": "nickel", "sentence": "no GPU"}]
    assert (state["n_judged"], state["left_s"]) == (1, 0)


@pytest.mark.parametrize(("dataset", "round"), [("copper@2", 0), ("copper@1", 1)])
def test_a_result_of_another_data_set_or_of_a_round_that_does_not_count_judges_nothing(
    world: World, dataset: str, round: int
) -> None:
    def changed(result: Result) -> Result:
        provenance = result.provenance.model_copy(update={"dataset": dataset})
        return result.model_copy(update={"provenance": provenance, "round": round})

    assert status(world)["n_judged"] == 2
    change_result(world, changed, own_key_of(world))
    assert status(world)["n_judged"] == 1


def test_the_speed_is_that_of_whole_units(world: World) -> None:
    id = submission_of(world)
    remove(world, id, "nickel")
    before = status(world)["per_hour"]
    for key in "123":
        add_attempts(world, id, "nickel", key, {"verdict": Verdict.OK, "observation": key * 64})
    assert status(world)["per_hour"] == before == 1

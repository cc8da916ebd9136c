"""Published keys of results confirm no guess of hidden structures and labels: the secret of the store enters them."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.data.testset import read_testset
from judge.evaluation.plan import Circumstances, TaskUnits
from judge.records.attempts import read_histories, unit_prefix
from judge.records.probe_secret import order_secret
from judge.records.records import Result
from judge.records.results import read_submissions
from sandbox.limits import Limits
from tasks.kinds.registry import KINDS
from tasks.suites.suite import load_suite
from tests.judge.disclosure.hidden_world import hidden_world, ids, rendered
from tests.judge.evaluation.test_shards import BROKEN
from tests.world.world import World


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A hidden data set, a model that ends at once, and one that answers."""
    world = hidden_world(Path(tmp_path_factory.mktemp("keys")))
    world.submit("broken", BROKEN)
    world.submit("emt")
    assert world.run("evaluate", "--all")[0] == 0
    return world


def secret_results(world: World) -> list[Result]:
    return [result for result in world.results() if result.task == "secret"]


def keys_by_a_guess(world: World, secret: bytes) -> dict[str, tuple[str, str]]:
    """By submission, the keys that follow from public facts, the right structures and labels, and `secret`."""
    task = next(each for each in load_suite(world.settings.suite).tasks if each.name == "secret")
    testset = read_testset(world.settings.data, task.dataset)
    submissions = {each.id: each for each in read_submissions(world.store)}
    histories = read_histories(world.store, ids(world))
    found = {}
    for result in secret_results(world):
        stated = result.provenance
        common = Circumstances(
            stated.origin.guest, Limits.model_validate(stated.limits), stated.origin.hardware, secret=secret
        )
        unit = TaskUnits(task, KINDS[task.kind], testset, common).unit(submissions[result.submission])
        end = histories[unit_prefix(result.submission, result.task, result.observation_key)].end
        assert end is not None
        found[result.submission] = unit.observation_key, unit.result_key(end)
    return found


def test_a_right_guess_gives_other_keys_than_those_that_are_stored(judged: World) -> None:
    stored = {each.submission: (each.observation_key, each.result_key) for each in secret_results(judged)}
    assert keys_by_a_guess(judged, order_secret(judged.store)) == stored
    outsiders = keys_by_a_guess(judged, b"")
    assert len(outsiders) == 2
    assert not {key for keys in outsiders.values() for key in keys} & {key for keys in stored.values() for key in keys}


def test_no_page_has_the_hash_of_hidden_answers(judged: World) -> None:
    pages = b"".join(rendered(judged).values())
    results = secret_results(judged)
    assert all(result.result_key.encode() in pages for result in results)
    (observation,) = {result.provenance.observation for result in results} - {None}
    assert observation[:12].encode() not in pages

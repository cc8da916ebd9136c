"""A store of every kind that was judged at commit 7025b35 is read, planned, measured and scored as it was then.

`tests/fixtures/store-7025b35/README.md` says how it was made. It is never changed: what differs here is a change of
what users have stored or published.
"""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from judge.audit import verify_results
from judge.audit.rebuild_unit import rebuild_unit
from judge.audit.tolerance import compare
from judge.config import JudgeSettings, load_settings
from judge.data.testset import read_testset
from judge.evaluation import current_results as current_results_of
from judge.evaluation import request
from judge.evaluation.current_results import current_results
from judge.evaluation.measure import remeasure
from judge.evaluation.plan import Step, Unit
from judge.evaluation.request import Request, scope_of
from judge.evaluation.work_plan import WorkPlan, work_plan_of
from judge.records.attempts import read_histories, unit_prefix
from judge.records.items_file import result_path, unpack_items
from judge.records.records import End, Result
from judge.records.results import read_submissions
from judge.workspace import Workspace
from sandbox.verdict import Verdict
from submissions.progress import Reporter
from submissions.store.local import LocalStore
from tasks.datasets.dataset import load_dataset
from tasks.kinds.registry import KINDS
from tasks.suites.suite import load_suite
from tests.world.world import World

FIXTURE = Path(__file__).parents[1] / "fixtures" / "store-7025b35"
KINDS_THEN = {
    "labelled_frames",
    "energy_differences",
    "energy_profiles",
    "equation_of_state",
    "elasticity",
    "phonons",
    "compression",
    "nve",
    "efficiency",
    "physicality",
}
# The versions of measurements that went up since, by kind; the judge measures their results again from what is stored.
# labelled_frames 3, 5, 6: penalised errors of energy have their own shift, where a frame failed or is near its cost.
# equation_of_state 3: energies that are flat, or flat up to rounding, are NOT_CONVERGED; 4: the shape, which is not
# in the fixture, is of the steps of the energy.
# nve 4: dynamics without forces are NO_FORCES.
# labelled_frames 4, energy_differences 4, energy_profiles 3, compression 3: items have the errors of the trivial model.
# phonons 3: the F1 score, which the fixture does not have, is of the stable crystals.
# elasticity 3, phonons 4: of four references on, errors are divided by those of the best model without chemistry; the
# fixture has fewer.
# physicality 3: the stress of copies, which the fixture's observations do not have.
MEASURED_THEN = {
    "labelled_frames": 2,
    "energy_differences": 3,
    "energy_profiles": 2,
    "equation_of_state": 2,
    "compression": 2,
    "elasticity": 2,
    "nve": 3,
    "phonons": 2,
    "physicality": 2,
}
# The versions of observations that went up since, by kind; models are asked again.
# physicality 2: copies with all other lattice vectors, left-handed ones too, and the stress of copies.
# equation_of_state 3: curves about the model's own minimum; compression 2: from a drawn volume.
OBSERVED_THEN = {"physicality": 1, "equation_of_state": 2, "compression": 1}
# The results with other numbers now: penalised errors of energy alone, of models with a frame almost W off or farther,
# or with a failed one.
PENALISED_THEN = {("EMT", "strained"), ("Stiff EMT", "strained")} | {
    ("Lennard-Jones", task) for task in ("alloys", "strained", "surfaces")
}
PENALISED_WITH_FAILURES_THEN = {("Moody", "strained")}
# Of the five items of this hidden set one failed: four are too few since then.
TOO_FEW_NOW = {("EMT", "compression"), ("Stiff EMT", "compression")}
ENERGY_ERRORS = ("energy_rmse_per_atom", "energy_mae_per_atom")
# Since then the guest says more of what is wrong with an image, and leaves its HOME as it is: models are asked again.
GUEST_THEN = "e0b96067ae0c127e"
N_SUBMISSIONS = 4  # beside the one that was withdrawn
# Results that do not count: of a round that another took the place of, and of one that was not applied.
NOT_COUNTED = [("EMT", "alloys", 0), ("EMT", "timing", 0), ("Lennard-Jones", "alloys", 1)]
# Of leaderboard.json: names of keys that only say which judge built it, and names that were changed since, old to new.
STAMPS: frozenset[str] = frozenset()
# Fields of tasks, models and scores that leaderboard.json did not have.
ADDED = frozenset(
    {
        "title",
        "license",
        "training",
        "not_resampled",
        "interval_with_unseen_failures",
        "interval_like_these",
        "carries_over",
    }
)
RENAMED: dict[str, str] = {}
# Of the scores of a model: how far they may move is estimated in another way since. Scores and ranks are the same.
ESTIMATED = {"interval": list, "ranks": list, "group": int}


@pytest.fixture(autouse=True)
def versions_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys contain the versions of observation, measurement and guest: with the versions of then they are as they were.

    They did not contain the secret of the store.
    """
    for kind, version in MEASURED_THEN.items():
        monkeypatch.setattr(KINDS[kind], "measure_version", version)
    for kind, version in OBSERVED_THEN.items():
        monkeypatch.setattr(KINDS[kind], "observe_version", version)
    for module in (request, current_results_of):
        monkeypatch.setattr(module, "guest_version", lambda: GUEST_THEN)
    for module, name in (
        (request, "order_secret"),
        (current_results_of, "known_secret"),
        (verify_results, "known_secret"),
    ):
        monkeypatch.setattr(module, name, lambda _: b"")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A copy of the fixture, which is also the working directory."""
    root = tmp_path_factory.mktemp("fixture") / "copy"
    shutil.copytree(FIXTURE, root)
    (root / "signing.key").chmod(0o600)
    with chdir(root):
        yield World(root)


@pytest.fixture(scope="module")
def settings(world: World) -> JudgeSettings:
    return load_settings()


@pytest.fixture(scope="module")
def ends(world: World) -> dict[str, End]:
    """The end of each unit that was judged, by its prefix."""
    histories = read_histories(world.store, [each.id for each in read_submissions(world.store)])
    return {prefix: history.end for prefix, history in histories.items() if history.end}


def stored_results(world: World) -> dict[str, Result]:
    """Every result in the store, by its key there."""
    keys = [key for key in world.store.list("results/") if key.endswith(".json")]
    return {key: Result.read(world.store.get(key)) for key in keys}


def units_again(world: World, settings: JudgeSettings, ends: dict[str, End]) -> Iterator[tuple[Result, Unit, End]]:
    """Each stored result with its unit and its end; the unit is made again from submission, suite and data set."""
    submissions = {each.id: each for each in read_submissions(world.store)}
    tasks = {task.name: task for task in load_suite(settings.suite).tasks}
    for result in stored_results(world).values():
        end = ends[unit_prefix(result.submission, result.task, result.observation_key)]
        testset = read_testset(settings.data, tasks[result.task].dataset)
        yield result, rebuild_unit(result, end, submissions[result.submission], tasks[result.task], testset, b""), end


def surveyed(world: World, settings: JudgeSettings, **changed: Any) -> WorkPlan:
    """What `judge evaluate --all` would do on the machine that the fixture was judged on, or in other circumstances."""
    reporter = Reporter(Console(file=StringIO()))
    scope = scope_of(Workspace(settings), Request(), reporter)
    (hardware,) = {result.provenance.origin.hardware for result in stored_results(world).values()}
    common = replace(scope.common, **{"hardware": hardware, **changed})
    return work_plan_of(settings.data, Request(), replace(scope, common=common))


def test_every_kind_and_every_way_to_end_is_in_the_fixture(world: World, settings: JudgeSettings) -> None:
    suite = load_suite(settings.suite)
    assert {task.kind for task in suite.tasks} == KINDS_THEN <= set(KINDS)
    results = stored_results(world).values()
    assert {result.kind for result in results} == KINDS_THEN
    assert {result.verdict for result in results} == {
        Verdict.OK,
        Verdict.TOO_MANY_FAILURES,
        Verdict.TIME_LIMIT,
        Verdict.CRASHED,
    }
    assert any(result.provenance.dispersion for result in results)
    assert {result.provenance.origin.judge_commit[:7] for result in results} == {"7025b35"}


def test_nothing_is_stale(world: World, settings: JudgeSettings) -> None:
    plan_work = surveyed(world, settings)
    n_tasks = len(plan_work.suite.tasks)
    assert Counter(planned.step for planned in plan_work.plan) == {Step.DONE: N_SUBMISSIONS * n_tasks - 1, Step.HELD: 1}
    (held,) = (planned.unit for planned in plan_work.plan if planned.step is Step.HELD)
    assert (held.submission.card.name, held.task.name) == ("Moody", "slabs")
    assert [line.partition(" on ")[0].partition("-")[0] for line in plan_work.skipped] == ["early"]


def test_what_is_measured_again_needs_no_model(
    world: World, settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = {
        "labelled_frames": 6,
        "energy_differences": 4,
        "energy_profiles": 3,
        "equation_of_state": 4,
        "compression": 3,
        "elasticity": 3,
        "nve": 4,
        "phonons": 4,
        "physicality": 3,
    }
    assert now.keys() == MEASURED_THEN.keys()
    for kind, version in now.items():
        monkeypatch.setattr(KINDS[kind], "measure_version", version)
    plan = surveyed(world, settings).plan
    assert {planned.unit.task.kind for planned in plan if planned.step is Step.MEASURE} == now.keys()
    assert {planned.step for planned in plan} == {Step.DONE, Step.HELD, Step.MEASURE}
    for planned in plan:
        if planned.step is Step.DONE and planned.history.end and planned.history.end.observation:
            assert planned.unit.kind.name not in now


@pytest.mark.parametrize("changed", [{"guest": "another"}, {"hardware": "another"}])
def test_the_plan_sees_what_makes_results_stale(world: World, settings: JudgeSettings, changed: dict[str, str]) -> None:
    """Else the test before could not fail."""
    plan = surveyed(world, settings, **changed).plan
    stale = {planned.unit.task.kind for planned in plan if planned.step is Step.OBSERVE}
    assert stale == (KINDS_THEN if "guest" in changed else {"efficiency"})


def test_the_same_results_count(world: World, settings: JudgeSettings) -> None:
    current = current_results(Workspace(settings), load_suite(settings.suite))
    results = stored_results(world)
    assert current <= results.keys()
    names = {each.id: each.card.name for each in read_submissions(world.store)}
    others = [results[key] for key in results.keys() - current]
    assert sorted((names[r.submission], r.task, r.round) for r in others) == NOT_COUNTED


def test_all_keys_come_out_as_they_are_stored(world: World, settings: JudgeSettings, ends: dict[str, End]) -> None:
    n = 0
    for result, unit, end in units_again(world, settings, ends):
        assert unit.observation_key == result.observation_key
        assert unit.prefix in ends
        path = result_path(result.submission, result.task, unit.result_key(end))
        assert Result.read(world.store.get(path)) == result
        n += 1
    assert n == len(stored_results(world)) > 60


def test_every_number_comes_out_as_it_is_stored(world: World, settings: JudgeSettings, ends: dict[str, End]) -> None:
    for result, unit, end in units_again(world, settings, ends):
        folder = settings.data / unit.task.dataset
        measured = remeasure(unit, end, world.store, lambda folder=folder: load_dataset(folder))
        metrics: dict[str, Any] = dict(measured.result.metrics)
        submission_and_task = unit.submission.card.name, result.task
        failures = submission_and_task in PENALISED_WITH_FAILURES_THEN
        if failures or submission_and_task in PENALISED_THEN:
            for name in ENERGY_ERRORS:
                then, now = result.metrics[name].charged, metrics[name].charged
                assert then is not None
                assert now <= then * (1 + (1e-3 if failures else 1e-12))
                assert metrics[name].n_failed > 0 or not failures
                metrics[name] = replace(metrics[name], charged=then)
            columns = unpack_items(measured.items or b"").columns
            assert failures or math.sqrt(np.nanmax(columns["energy_sq"])) > 0.9 * metrics[ENERGY_ERRORS[1]].failure_cost
        again = measured.result.model_copy(update={"metrics": metrics})
        if submission_and_task in TOO_FEW_NOW:
            assert again.verdict is Verdict.TOO_MANY_FAILURES
            again = again.model_copy(update={"verdict": result.verdict})
        assert compare(result, again).difference == "", (result.submission, result.task, result.round)


def test_signatures_and_manifests_hold(world: World) -> None:
    status, said = world.run_json_here("verify", "--all")
    assert isinstance(said, dict)
    ids = {each.id: each.card.name for each in read_submissions(world.store)}
    why: dict[tuple[str, str], str] = {}
    for each in said["broken"]:
        submission, task = each["what"].split("/")[1:3]
        why[ids[submission], task] = each["why"]
    assert why.keys() == PENALISED_THEN | PENALISED_WITH_FAILURES_THEN | TOO_FEW_NOW
    assert all(("verdict is" if unit in TOO_FEW_NOW else ".charged is") in text for unit, text in why.items())
    assert status == 1
    assert said["manifests"] == 2
    assert sum(each["n_results"] for each in said["submissions"]) == len(stored_results(world)) - len(NOT_COUNTED)


def test_the_leaderboard_is_the_same(world: World) -> None:
    status, _, err = world.run_here("site", "build")
    assert (status, err) == (0, "")
    then, now = (json.loads((folder / "leaderboard.json").read_bytes()) for folder in (FIXTURE, world.root / "site"))
    assert list(differences(without_estimates(then), without_estimates(now))) == []
    assert [model["name"] for model in then["models"] if model["rank"] is not None] == ["EMT", "Stiff EMT"]
    scores = [score["models"].values() for scheme in then["schemes"] for score in scheme["scores"]]
    assert all(any(values["score"] is not None for values in models) for models in scores)


def without_estimates(board: Any) -> Any:
    """The leaderboard without what is estimated; each estimate is of its type, and an interval holds its score."""
    board = json.loads(json.dumps(board))
    for score in (score for scheme in board["schemes"] for score in scheme["scores"]):
        for values in score["models"].values():
            for name, sort in ESTIMATED.items():
                assert isinstance(values.get(name), sort | None)
            if values.get("interval") is not None and values["score"] is not None:
                assert values["interval"][0] <= values["score"] <= values["interval"][1]
            for name in ESTIMATED:
                values.pop(name, None)
    return board


def differences(then: Any, now: Any, path: str = "") -> Iterator[str]:
    """Where two values differ; numbers may by rounding, as another processor adds up in another order."""
    if isinstance(then, dict) and isinstance(now, dict):
        renamed = {RENAMED.get(name, name): value for name, value in then.items()}
        for name in sorted({*renamed, *now} - STAMPS - (ADDED - renamed.keys())):
            yield from differences(renamed.get(name, "no such key"), now.get(name, "no such key"), f"{path}.{name}")
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for index, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from differences(one, other, f"{path}.{index}")
    elif isinstance(then, float) and isinstance(now, float):
        if not math.isclose(then, now, rel_tol=1e-12):
            yield f"{path}: {then!r} then, {now!r} now"
    elif type(then) is not type(now) or then != now:
        yield f"{path}: {then!r:.80} then, {now!r:.80} now"


def test_differences_are_seen() -> None:
    then = {"a": [1.0, {"b": "x"}], "c": None}
    assert list(differences(then, {"a": [1.0 + 1e-15, {"b": "x"}], "c": None})) == []
    for now in ({"a": [1.001, {"b": "x"}], "c": None}, {"a": [1.0, {}], "c": None}, {"a": [1.0], "c": 0}):
        assert list(differences(then, now))


def test_the_store_is_left_as_it_was(world: World) -> None:
    """All of the above only read it."""

    def content(root: Path) -> dict[str, bytes]:
        store = LocalStore(root / "store")
        return {key: store.get(key) for key in store.list("")}

    assert content(world.root) == content(FIXTURE)

"""Rows without a rank: submissions for comparison change no other row; other rows go through the same trees."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ase.units import Hartree
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.audit.verify_published import check_scores
from judge.disclosure.public_leaderboard import public_board
from judge.ranking.build import COMPARED, build_leaderboard
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.references import COMPOSITION_ONLY, ReferenceRow, computed_references, judged_references
from judge.records.manifest import read_chain
from judge.records.records import Result
from judge.records.signing import trusted_keys
from judge.view.leaderboard_export import leaderboard_file
from judge.view.leaderboard_schema import LeaderboardFile
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from submissions.records import Submission
from tasks.datasets.dataset import Dataset, load_dataset
from tasks.kinds.energy_differences import EnergyDifferences, EnergyDifferencesParameters
from tasks.metrics.metric import Metric
from tasks.suites.suite import StatedReference, Suite, Task, load_suite
from tests.tasks.made_up import observed
from tests.world.board_records import SUITE, error, frames_metrics, good_results, items_of, result, submission, task
from tests.world.leaderboard_reader import score_of_file
from tests.world.one_tree import score
from tests.world.world import World

A, B, C = submission("alpha"), submission("beta"), submission("emt", version="1.2")
TASKS = {each.name: each for each in SUITE.tasks}
ABOUT, SOURCE = "A hybrid density functional.", "a paper"


def board(
    results: Sequence[Result], *submissions: Submission, suite: Suite = SUITE, references: Sequence[str] = ()
) -> Leaderboard:
    return build_leaderboard(suite, submissions, results, items_of, references=references)


def without(results: Sequence[Result], name: str, submission: Submission, *also: Result) -> list[Result]:
    return [r for r in results if (r.submission, r.task) != (submission.id, name)] + list(also)


TWO_DOMAINS = replace(SUITE, tasks=(*SUITE.tasks, task("adsorption", "energy_differences", "Catalysis")))


def in_two_domains(submission: Submission, relative: float) -> list[Result]:
    """The results of a model in a suite that has properties in two domains."""
    return [
        *good_results(submission, relative),
        result(submission, TWO_DOMAINS.tasks[-1], {"mae": error(relative, "eV")}),
    ]


@pytest.mark.parametrize(("named", "relative"), [("emt", 0.05), (C.id, 0.25), ("emt", 0.9)])
def test_a_reference_has_a_row_and_moves_no_other(named: str, relative: float) -> None:
    results = in_two_domains(A, 0.3) + in_two_domains(B, 0.2)
    alone = board(results, A, B, suite=TWO_DOMAINS)
    # It lacks a whole domain, which a published release then drops for all models.
    refused = result(C, TASKS["barriers"], {}, Verdict.UNSUPPORTED)
    lacking = without(in_two_domains(C, relative), "barriers", C, refused)
    for of_c in (in_two_domains(C, relative), lacking):
        beside = board(results + of_c, A, B, C, suite=TWO_DOMAINS, references=[named])
        assert [(row.submission.card.name, row.rank) for row in beside.rows] == [
            ("beta", 1),
            ("alpha", 2),
            ("emt", None),
        ]
        assert beside.rows[:2] == alone.rows
        assert [row.reference for row in beside.rows] == ["", "", COMPARED]
        assert (beside.unranked, beside.references) == ((), beside.rows[2:])
        for name, intervals in alone.robustness.intervals.items():
            assert {id: beside.robustness.intervals[name][id] for id in intervals} == intervals
        assert (beside.robustness.weights, beside.robustness.without) == (
            alone.robustness.weights,
            alone.robustness.without,
        )
    taking_part = board(results + lacking, A, B, C, suite=TWO_DOMAINS)
    assert taking_part.rows[0].as_published != alone.rows[0].as_published  # so the checks above could have failed


def test_those_that_are_not_ranked_come_before_references() -> None:
    results = without(good_results(A, 0.3), "barriers", A) + good_results(B, 0.2) + good_results(C, 0.1)
    shown = board(results, A, B, C, references=["emt"])
    assert [row.submission.card.name for row in shown.rows] == ["beta", "alpha", "emt"]
    assert ([row.submission for row in shown.unranked], [row.submission for row in shown.references]) == ([A], [C])
    (row,) = judged_references(shown)
    assert (row.id, row.name, row.about, row.page) == (C.id, "emt", COMPARED, f"submissions/{C.id}.html")
    assert row.scores["force_field"].value == pytest.approx(0.1)
    file = leaderboard_file(public_board(shown, ()), Sources())
    (model,) = [model for model in file.models if model.id == C.id]
    assert (model.reference, model.rank, model.page) == (COMPARED, None, row.page)


def stated_in(file: LeaderboardFile, id: str) -> dict[str, float]:
    """The scores of a row of the file, each computed again from the file as a reader would."""
    (scheme,) = [s for s in file.schemes if (s.key, s.variant) == ("lambench", "corrected")]
    values = {}
    for exported in scheme.scores:
        tree = score_of_file(exported, id)
        if tree is not None:
            values[exported.key] = float(score(tree))
            assert exported.models[id].score == (
                None if math.isnan(values[exported.key]) else pytest.approx(values[exported.key])
            )
    return values


baselines = st.floats(1e-6, 1e6)


@settings(max_examples=12, deadline=None)
@given(st.lists(baselines, min_size=6, max_size=6), st.floats(0.0, 1e3), st.booleans())
def test_the_trivial_model_is_exactly_one(errors: list[float], relative: float, virial: bool) -> None:
    def task_result(name: str, index: int) -> Result:
        metrics = {
            key: error(relative * errors[(index + n) % 6], baseline=errors[(index + n) % 6])
            for n, key in enumerate(frames_metrics(1.0, virial and index == 0))
        }
        return result(A, TASKS[name], metrics if name != "barriers" else {"mae": error(relative, "eV", errors[index])})

    shown = board([task_result(name, index) for index, name in enumerate(("crystals", "molecules", "barriers"))], A)
    public = public_board(shown, ())
    (row,) = computed_references(public)
    assert row.id == COMPOSITION_ONLY
    assert {key: term.value for key, term in row.scores.items()} == {"force_field": 1.0, "property_error": 1.0}
    assert stated_in(leaderboard_file(public, Sources()), COMPOSITION_ONLY) == {
        "force_field": 1.0,
        "property_error": 1.0,
    }


def test_the_trivial_model_has_no_page_no_rank_and_no_speed() -> None:
    file = leaderboard_file(public_board(board(good_results(A, 0.3), A), ()), Sources())
    *_, model = file.models
    assert (model.id, model.name, model.rank, model.page) == (COMPOSITION_ONLY, "Composition only", None, "")
    assert "by definition" in model.reference
    assert len(model.outcomes) == len(SUITE.tasks)
    assert {scheme.variant for scheme in file.schemes for s in scheme.scores if model.id in s.models} == {"corrected"}
    assert not submission("x").id.startswith("reference:")


def test_without_a_model_there_are_no_computed_references() -> None:
    assert computed_references(board([], suite=SUITE)) == ()


def stating(**metrics: dict[str, float]) -> Suite:
    return replace(SUITE, references=(StatedReference("ωB97M-V (QZ)", ABOUT, SOURCE, metrics),))


def stated_row(suite: Suite, *more: Result) -> tuple[ReferenceRow | None, LeaderboardFile]:
    shown = public_board(board([*good_results(A, 0.3), *more], A, suite=suite), ())
    rows = [row for row in computed_references(shown) if row.id != COMPOSITION_ONLY]
    return (rows[0] if rows else None), leaderboard_file(shown, Sources())


def test_published_errors_of_a_method_go_through_the_same_tree() -> None:
    row, file = stated_row(stating(barriers={"mae": 0.125}))
    assert row is not None
    assert (row.id, row.name, row.about, row.source) == ("reference:ωb97m-v-qz", "ωB97M-V (QZ)", ABOUT, SOURCE)
    assert {key: term.value for key, term in row.scores.items()} == {"property_error": 0.125}
    assert stated_in(file, row.id) == {"property_error": 0.125}
    *_, model = file.models
    assert (model.id, model.reference, model.rank) == (row.id, f"{ABOUT} Source: {SOURCE}.", None)


def test_a_missing_metric_gives_no_value_and_does_not_count_as_worst() -> None:
    frames = {"energy_rmse_per_atom": 0.1, "force_rmse": 0.1}
    row, file = stated_row(stating(crystals=frames, molecules=frames))
    assert row is not None
    whole = row.scores["force_field"]
    crystals, molecules = whole.parts
    assert (crystals.value, molecules.value, whole.value) == (None, pytest.approx(0.1), None)  # the virial is missing
    assert math.isnan(stated_in(file, row.id)["force_field"])
    (scheme,) = [s for s in file.schemes if (s.key, s.variant) == ("lambench", "corrected")]
    tree = next(score_of_file(s, row.id) for s in scheme.scores if s.key == "force_field")
    assert tree is not None
    assert [float(score(part)) for part in tree.parts] == [pytest.approx(math.nan, nan_ok=True), pytest.approx(0.1)]


def test_a_method_without_a_scored_metric_has_no_row() -> None:
    assert stated_row(stating(barriers={"rmse": 0.1}))[0] is None


FUNCTIONALS = {"ωB97M-V": "wB97M-V", "r2SCAN0": "r2SCAN0", "PBE0": "PBE0", "B3LYP": "B3LYP"}


@pytest.mark.data
def test_the_published_energies_of_functionals_give_the_errors_that_a_suite_states(
    reference_data: Path, tmp_path: Path
) -> None:
    """GSCDB137 (arXiv:2508.13468): models that answer with the published energies have the published errors."""
    suite, world = load_suite("gscdb"), World(tmp_path)
    models = {stated.name: submission(f"as {stated.name}") for stated in suite.references}
    assert set(models) == set(FUNCTIONALS)
    results = []
    for t in suite.tasks:
        (line,) = t.import_lines
        words = shlex.split(line)
        (tmp_path / words[4]).symlink_to(reference_data / "gscdb" / words[4])
        status, _, err = world.run_here(*words[1:], LAMBENCH_DATA=str(tmp_path))
        assert (status, err) == (0, "")
        dataset = load_dataset(tmp_path / t.dataset)
        published = json.loads((tmp_path / words[4] / "dft_energies.json").read_text())
        for stated in suite.references:
            metrics = measured(dataset, t, published["energies"][FUNCTIONALS[stated.name]])
            assert metrics["mae"].value is not None
            assert f"{metrics['mae'].value:.4f}" == f"{stated.metrics[t.name]['mae']:.4f}", (t.name, stated.name)
            results.append(result(models[stated.name], t, metrics))
    shown = build_leaderboard(suite, list(models.values()), results, lambda _: None)
    _, *rows = computed_references(public_board(shown, ()))
    computed = {row.submission.id: row.scores["property_error"].value for row in shown.rows}
    scores = {row.name: row.scores["property_error"].value or math.nan for row in rows}
    for name, stated_score in scores.items():
        assert stated_score == pytest.approx(computed[models[name].id], abs=1e-4)
    assert list(scores) == list(FUNCTIONALS)
    assert 0 < scores["ωB97M-V"] < scores["PBE0"] < 0.5


def measured(dataset: Dataset, task: Task, energies: dict[str, float]) -> dict[str, Metric]:
    """The metrics of a model that answers with these energies [hartree]."""
    energy = np.array([energies[name] * Hartree for name in dataset.table.id])
    answers = observed(energy, np.zeros(len(energy), np.int8))
    assert isinstance(task.parameters, EnergyDifferencesParameters)
    mae = EnergyDifferences().measure(answers, dataset, task.parameters, None).metrics["mae"]
    return {"mae": mae}


def test_publishing_with_a_reference_holds_when_verified(judged_world: World) -> None:
    world = judged_world
    named = {"LAMBENCH_REFERENCES": '["emt", "EMT"]'}
    warning = "warning: references: no submission is called 'EMT': see judge list\n"
    status, _, err = world.run_here("site", "publish", **named)
    assert (status, err) == (0, warning)
    file = LeaderboardFile.model_validate_json((world.root / "public" / "leaderboard.json").read_bytes())
    rows = {model.name: (model.rank, bool(model.reference)) for model in file.models}
    assert rows == {"emt": (None, True), "Composition only": (None, True)}
    chain = read_chain(world.store, trusted_keys(world.settings))
    suite = load_suite(world.settings.suite)
    (stored,) = chain.manifests
    assert [scores.rank for scores in stored.manifest.scores.values()] == [None]
    assert stored.manifest.references == tuple(stored.manifest.scores)
    assert check_scores(world.store, suite, stored) == []  # verification needs no settings of the judge
    for environment, rank in ((named, None), ({}, 1)):
        _, listed, _ = world.run_here("score", "suite", "--json", **environment)
        assert [model["rank"] for model in json.loads(listed)["models"].values()] == [rank]
    (id,) = stored.manifest.scores
    for _ in range(2):  # the second draws nothing
        status, _, err = world.run_here("site", "build", LAMBENCH_REFERENCES=f'["EMT", "{id}"]')
        assert (status, err) == (0, warning)

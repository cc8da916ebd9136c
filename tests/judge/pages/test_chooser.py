"""What the chooser offers follows from the suite, and its file tells nothing of few hidden items."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from judge.pages.chooser import Need, chooser, meaning_of_one, needs_of, sums_of_file
from judge.pages.site import render
from judge.ranking.leaderboard import Row, TaskLine
from judge.ranking.load import load_items
from judge.records.cache_file import CacheFile
from judge.records.few_items import LEAST_ITEMS
from judge.records.items_file import items_path, pack_items
from judge.view.page_context import frame
from scoring.choice import Choice, ranking_of_choice
from scoring.choice_sums import SimulatedRuns, TaskSums
from scoring.names import INSTABILITY
from tasks.suites.suite import load_suite
from tests.judge.pages.choice_site import CRYSTALS, DRIFT, MELTS, SHAPES, SURFACES, ChoiceSite, choice_site
from tests.world.board_records import task


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> ChoiceSite:
    return choice_site(tmp_path_factory.mktemp("choices"))


@pytest.fixture(scope="module")
def tasks(site: ChoiceSite) -> dict[str, TaskSums]:
    return {task.task: task for task in site.with_all().choices()}


def ids(site: ChoiceSite) -> dict[str, str]:
    return {row.submission.card.name: row.submission.id for row in site.board.rows}


def test_all_groups_together_give_the_scores_of_the_board(site: ChoiceSite, tasks: dict[str, TaskSums]) -> None:
    """Over everything, an error is the penalised metric divided by its baseline."""
    named = ids(site)
    for row in site.board.rows:
        for line in row.tasks:
            for column in tasks[line.task.name].columns if line.task.name in tasks and line.task is not DRIFT else ():
                assert line.result is not None
                metric = line.result.metrics[column.metric]
                assert metric.charged is not None
                assert metric.baseline is not None
                expected = min(metric.charged / metric.baseline, 1.0)
                alone = TaskSums(line.task.name, (replace(column, needs=("one",)),))
                ranked = {model.model: model for model in ranking_of_choice([alone], named.values(), Choice())}
                digits = 1e-5 if line.task is not SURFACES else 0.02
                expected = max(expected, column.references[0].floor)
                assert ranked[row.submission.id].score == pytest.approx(expected, rel=digits)
                assert ranked[row.submission.id].n_failed == metric.n_failed


def test_energy_drifts_count_as_in_the_instability(site: ChoiceSite, tasks: dict[str, TaskSums]) -> None:
    """The score is the instability, of 5 decades at most; runs that failed count 5."""
    rows = {row.submission.id: row for row in site.board.rows}
    ranked = ranking_of_choice([tasks["drift"]], rows, Choice(needs=frozenset({""})))
    assert ranked == []
    column = replace(tasks["drift"].columns[0], needs=(Need.DYNAMICS,))
    ranked = ranking_of_choice([TaskSums("drift", (column,))], rows, Choice(needs=frozenset({Need.DYNAMICS})))
    assert len({model.score for model in ranked}) == len(ranked) == 3
    for model in ranked:
        assert model.score == pytest.approx(rows[model.model].scores[INSTABILITY].value / 5.0, rel=1e-5)
    assert sum(model.n_failed for model in ranked) > 0


def test_conditions_of_runs_are_those_of_the_task(tasks: dict[str, TaskSums]) -> None:
    runs = {name: task.runs for name, task in tasks.items()}
    melts, drift = SimulatedRuns((800.0, 800.0), 0.001), SimulatedRuns((300.0, 300.0), 2e-5)
    assert runs == {"alloys": None, "steps": None, "shapes": None, "melts": melts, "drift": drift}


def test_needs_follow_from_kinds_domains_and_titles(tasks: dict[str, TaskSums]) -> None:
    assert needs_of(CRYSTALS, "energy_rmse_per_atom", None) == (Need.ENERGIES,)
    assert needs_of(CRYSTALS, "force_rmse", None) == (Need.FORCES,)
    assert needs_of(CRYSTALS, "virial_rmse_per_atom", None) == (Need.STRUCTURES,)
    assert needs_of(SURFACES, "barrier_mae", None) == (Need.BARRIERS,)
    assert needs_of(SURFACES, "reaction_energy_mae", None) == (Need.ENERGIES,)
    assert needs_of(SHAPES, "mae", None) == (Need.CONFORMERS,)
    assert needs_of(MELTS, "density_mape", None) == (Need.DYNAMICS,)
    assert needs_of(DRIFT, "slope_geomean", None) == (Need.DYNAMICS,)
    classes = {
        name: {c for g in task.columns[0].references[0].groups for c in g.classes} for name, task in tasks.items()
    }
    assert classes.pop("shapes") == {"molecule", "drug-like"}
    assert classes == {"alloys": {"crystal"}, "steps": {"surface"}, "melts": {"liquid"}, "drift": {"crystal"}}
    suites = {
        ("ml-peg", "Conformers"): Need.CONFORMERS,
        ("ml-peg", "NEBs"): Need.BARRIERS,
        ("gscdb", "Molecules"): Need.CONFORMERS,
        ("kappa103", "Inorganic Materials"): Need.PHONONS,
    }
    for (suite, domain), need in suites.items():
        of_domain = [task for task in load_suite(suite).tasks if task.domain == domain]
        assert any(need in needs_of(task, "mae", None) for task in of_domain), suite


def test_presets_are_those_that_the_suite_has_tasks_for(site: ChoiceSite) -> None:
    offered = chooser(frame(site.board, site.with_all()))
    assert offered is not None
    assert [preset.label for preset in offered.presets] == [
        "Barriers on surfaces",
        "Molten salts in MD",
        "Conformers of drug-like molecules",
        "Conformers of molecules",
        "Forces in crystals",
    ]
    assert offered.presets[1].query == "?for.class=liquid&for.elements=Cl+F+K+Li+Na&for.need=dynamics"
    files = render(site.board, replace(site.with_all(), choices=tuple))
    assert "data-chooser" not in files["index.html"].decode()  # nothing to choose from
    assert not any("choices" in path for path in files)


def test_virials_without_forces_are_no_answer_to_forces(site: ChoiceSite, tasks: dict[str, TaskSums]) -> None:
    """They are offered as structures, with stress; the need "forces" has no tick."""
    energy, force = tasks["alloys"].columns
    assert force.metric == "force_rmse"
    strained = replace(tasks["alloys"], columns=(energy, replace(force, metric="virial_rmse_per_atom")))
    offered = chooser(frame(site.board, replace(site.with_all(), choices=lambda: (strained,))))
    assert offered is not None
    assert [preset.label for preset in offered.presets] == ["Structures of crystals"]
    assert [need for need, _ in offered.needs] == [Need.ENERGIES, Need.STRUCTURES]


def test_an_error_of_one_is_what_divides(site: ChoiceSite) -> None:
    trivial = "1 is no better than a trivial model."
    volumes = task("volumes", "equation_of_state", "Inorganic Materials")
    card = site.sources.cards[CRYSTALS.dataset].model_copy(update={"baselines": {"exact": {"force_rmse": 0.5}}})
    assert meaning_of_one(CRYSTALS, "force_rmse", None) == meaning_of_one(CRYSTALS, "energy_rmse", card) == trivial
    assert "states the divisor" in meaning_of_one(CRYSTALS, "force_rmse", card)
    assert "PBE against experiment" in meaning_of_one(volumes, "v0_mae_percent", None)
    assert "energy drifts" in meaning_of_one(DRIFT, "slope_geomean", None)


def public_numbers(site: ChoiceSite) -> dict[str, bytes]:
    """The public files that may have numbers of a data set."""
    return render(site.board, site.with_all())


def test_of_a_hidden_data_set_there_are_only_sums_of_five_items(site: ChoiceSite, tasks: dict[str, TaskSums]) -> None:
    for column in tasks["steps"].columns:
        groups = column.references[0].groups
        assert len(groups) > 2
        assert all(group.n_items >= LEAST_ITEMS for group in groups)
        for model in column.models.values():
            assert model.block_errors == column.references[0].block_groups == column.references[0].block_trivial == ()
            for values in (model.errors, model.spreads, model.slopes):
                assert all(float(f"{value:.1e}") == value for value in values)
    assert min(group.n_items for group in tasks["alloys"].columns[0].references[0].groups) == 1  # it is public


def with_second(row: Row, line: TaskLine) -> Row:
    return replace(row, tasks=(row.tasks[0], line, *row.tasks[2:]))


def test_the_canary_moves_the_sums_of_its_own_group_alone(site: ChoiceSite, tasks: dict[str, TaskSums]) -> None:
    """One hidden item's error is a thousand times as large: the other groups, and what is shared, stay as they were."""
    model = ids(site)["Steady"]
    line = next(row.tasks[1] for row in site.board.rows if row.submission.id == model)
    assert line.result is not None
    items = load_items(site.store, line.result)
    assert items is not None
    path = items_path(model, "steps", line.result.result_key)
    stored = site.store.get(path)
    canary = next(k for k, id in enumerate(items.id) if id.startswith("O on Au 0 barrier"))
    others, metrics = {}, dict(line.result.metrics)
    try:
        error = items.columns["error"].copy()
        error[canary] *= 1000.0
        changed = replace(items, columns={**items.columns, "error": error})
        site.store.put(path, pack_items(changed))
        metric = metrics["barrier_mae"]
        members = items.columns["barrier_count"] > 0
        charged = float(np.fmin(np.abs(error[members]), metric.failure_cost).mean())
        metrics["barrier_mae"] = replace(metric, charged=charged)
        result = line.result.model_copy(update={"metrics": metrics})
        rows = tuple(
            with_second(row, replace(line, result=result)) if row.submission.id == model else row
            for row in site.board.rows
        )
        moved = site._replace(board=replace(site.board, rows=rows))
        others = {task.task: task for task in moved.with_all().choices()}
    finally:
        site.store.put(path, stored)
    assert {name: task for name, task in others.items() if name != "steps"} == {
        name: task for name, task in tasks.items() if name != "steps"
    }
    before, after = tasks["steps"].columns[0], others["steps"].columns[0]
    assert tasks["steps"].columns[1] == others["steps"].columns[1]
    assert before.references == after.references
    assert {id: sums for id, sums in before.models.items() if id != model} == {
        id: sums for id, sums in after.models.items() if id != model
    }
    own = next(g for g, group in enumerate(before.references[0].groups) if {"Au", "O"} <= set(group.elements))
    assert before.references[0].groups[own].n_items >= LEAST_ITEMS
    one, two = before.models[model], after.models[model]
    for name in ("errors", "spreads", "slopes", "failed"):
        pairs = list(zip(getattr(one, name), getattr(two, name), strict=True))
        assert [a == b for g, (a, b) in enumerate(pairs) if g != own] == [True] * (len(pairs) - 1)
    assert one.errors[own] != two.errors[own]


def test_no_name_of_an_item_is_in_the_files(site: ChoiceSite) -> None:
    files = {path: content for path, content in public_numbers(site).items() if "choices" in path}
    assert len(files) == 6
    for content in files.values():
        assert not re.search(rb"O on Au|steps \d", content)
    index = json.loads(
        next(content for path, content in files.items() if re.search(r"choices-[0-9a-f]{12}\.json$", path))
    )
    assert {speed["us_per_atom"] for speed in index["speeds"]} == {90.0, 30.0, 4.0}
    read = {sums_of_file(content).task for content in files.values() if b'"columns":[' in content}
    assert read == {"alloys", "steps", "shapes", "melts", "drift"}


def test_sums_are_kept_from_one_build_to_the_next(
    site: ChoiceSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second build reads no items table and no data set."""
    sources = replace(site.sources, choice_cache=CacheFile(tmp_path / "sums.sqlite", "test"))
    kept = site._replace(sources=sources)
    while not all(each.is_settled for each in site.store.stamped("results/")):
        time.sleep(0.1)
    first = kept.with_all().choices()
    read: list[str] = []
    for name in ("load_items", "load_dataset"):
        monkeypatch.setattr(f"judge.publishing.stored_choices.{name}", lambda *_, name=name: read.append(name))
    assert kept.with_all().choices() == first
    assert read == []
    cards = {name: card.model_copy(update={"title": f"Liquids: {card.title}"}) for name, card in sources.cards.items()}
    kept._replace(sources=replace(sources, cards=cards)).with_all().choices()
    assert "load_items" in read  # a title tells what class structures have


def test_without_scripts_the_chooser_is_not_shown(site: ChoiceSite) -> None:
    page = public_numbers(site)["index.html"].decode()
    assert re.search(r'<details class="chooser" data-chooser="assets/choices-[0-9a-f]{12}\.json" hidden>', page)

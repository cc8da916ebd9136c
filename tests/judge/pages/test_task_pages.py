"""The page of a task has the texts of the suite and the numbers of the board."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from judge.pages.site import render
from judge.pages.tasks.task_pages import pages
from judge.ranking.build import build_leaderboard
from judge.view.jinja import has_template
from judge.view.page_context import Frame
from judge.view.sources import Sources
from submissions.records import TrainingSet
from tasks.kinds.registry import KINDS
from tasks.metrics.metric import MetricPart
from tasks.suites.suite import load_suite, packaged_suites
from tests.judge.pages.page_reader import PageReader, page_frame
from tests.judge.pages.three_models import CRYSTALS_CARD
from tests.world.board_records import FORCE, SUITE, error, good_results, items_of, result, submission, task, timed


@pytest.mark.parametrize("name", packaged_suites())
def test_every_packaged_suite_has_its_pages_before_anything_is_judged(name: str) -> None:
    suite = load_suite(name)
    files = pages(page_frame(suite))
    assert files.keys() == {f"tasks/{task.name}.html" for task in suite.tasks}
    for packaged in suite.tasks:
        page = PageReader(files[f"tasks/{packaged.name}.html"])
        assert "How the judge queries the model" in page.words
        assert "Failures" in page.words
        assert "No model has been judged yet" in page.words
        assert packaged.source in page.words  # a packaged suite is public


def test_every_kind_of_the_judge_has_its_own_text() -> None:
    assert all(has_template(f"kinds/{kind}.html") for kind in KINDS)


def test_numbers_are_those_of_the_board(three: Frame, read: dict[str, PageReader]) -> None:
    """Each task is alone in its domain or in its score, so the tree of the score has the same number."""
    for row in three.board.rows:
        name, domains = row.submission.card.name, {part.name: part for part in row.scores["force_field"].parts}
        expected = {
            "crystals": domains["Inorganic Materials"],
            "molecules": domains["Molecules"],
            "barriers": row.scores["property_error"],
            "speed": row.scores["efficiency"],
            "drift": row.scores["instability"],
        }
        for name_of_task, term in expected.items():
            page = read[f"tasks/{name_of_task}.html"]
            shown = page.row(name)[2][1]
            if term.value is None or (name, name_of_task) == ("Broken", "crystals"):
                assert shown == ""
            else:
                assert float(shown) == pytest.approx(term.value, rel=1e-5)


def test_the_interval_of_several_metrics_is_said_to_be_rather_too_wide(read: dict[str, PageReader]) -> None:
    words = "The interval of the score is computed from the ends of theirs, and is rather too wide."
    assert words in read["tasks/crystals.html"].words
    for of_one_metric in ("barriers", "speed", "drift"):
        assert words not in read[f"tasks/{of_one_metric}.html"].words


def test_a_failed_task_shows_what_it_counts(read: dict[str, PageReader]) -> None:
    cells = read["tasks/crystals.html"].row("Broken")
    assert cells[0][0].strip() == "–"
    assert "counts 1.000" in cells[2][0]
    assert "crashed" in " ".join(cell[0] for cell in cells)


def test_the_trivial_model_stands_at_one(read: dict[str, PageReader]) -> None:
    for name_of_task, name in (
        ("crystals", "Composition only"),
        ("molecules", "Composition only"),
        ("barriers", "Answers zero"),
    ):
        assert float(read[f"tasks/{name_of_task}.html"].row(name)[2][1]) == 1.0
        assert (
            f"{name} Median of the models" in read[f"tasks/{name_of_task}.html"].words
        )  # the column with the same name
    assert float(read["tasks/speed.html"].row("Reference speed")[2][1]) == 1.0
    assert read["tasks/speed.html"].row("Reference speed")[3][0].strip() == "100"


def test_a_task_without_labels_has_no_level_of_theory_and_counts_its_items_once() -> None:
    models, results = [submission("A"), submission("B")], []
    for model, labels in zip(models, ("PBE", "RPBE"), strict=True):
        for each in good_results(model, 0.2):
            more = {**each.metrics, "wire_cost": timed(3.0, n_items=99)} if each.task == "speed" else each.metrics
            results.append(each.model_copy(update={"label_set": labels, "n_items": 20, "metrics": more}))
    read = {path: PageReader(page) for path, page in pages(page_frame(SUITE, models, results)).items()}
    assert "labels of different levels of theory: PBE, RPBE" in read["tasks/crystals.html"].words
    speed = read["tasks/speed.html"]
    assert "levels of theory" not in speed.words
    assert "Items 20" in speed.words
    assert speed.row("A")[2][0].startswith("1.2")  # 100 µs/atom over 83: a time has two digits


def test_equations_of_state_are_compared_with_pbe_against_experiment() -> None:
    kind = "equation_of_state"
    suite = replace(SUITE, tasks=(*SUITE.tasks, task("volumes", kind, "Inorganic Materials")))
    model = submission("One")
    results = [*good_results(model, 0.2), result(model, suite.tasks[-1], {"mae_volume": error(0.5)})]
    page = PageReader(pages(page_frame(suite, [model], results))["tasks/volumes.html"])
    assert float(page.row("PBE against experiment")[2][1]) == 1.0
    assert "error of PBE against experiment )" in page.words
    for never in ("Composition only", "answers zero", "trivial model’s error", "error of the trivial model"):
        assert never not in page.words


def test_shares_of_the_scores_are_those_of_the_first_of_the_ranking() -> None:
    """The model with the smallest errors has a failed task, and so no rank."""
    best, second = submission("Best"), submission("Second")
    results = [*good_results(best, 0.01)[:-1], *good_results(second, 0.5)]
    page = PageReader(pages(page_frame(SUITE, [best, second], results))["tasks/crystals.html"])
    assert "Shares in the scores of Second , the first of the ranking" in page.words
    none = PageReader(pages(page_frame(SUITE, [best], results[: len(SUITE.tasks) - 1]))["tasks/crystals.html"])
    assert "No model is ranked, so no shares can be shown" in none.words
    assert "Shares in the scores" not in none.words


def test_errors_by_element_are_the_medians_of_the_models() -> None:
    models = [submission(name) for name in ("A", "B", "C")]
    results = []
    for model, value in zip(models, (0.1, 0.2, 0.9), strict=True):
        first, *others = good_results(model, value)
        by = MetricPart(by="element", name="Fe", metric=FORCE, value=value, unit="eV/Å", n_items=10)
        results += [first.model_copy(update={"parts": (by,)}), *others]
    files = pages(page_frame(SUITE, models, results, Sources(public={"crystals@1"})))
    assert "Fe: 200 meV/Å, 10 items" in files["tasks/crystals.html"].decode()
    assert b"data-figure" not in files["tasks/molecules.html"]
    ids = re.findall(r' id="([^"]+)"', files["tasks/crystals.html"].decode())
    assert len(ids) == len(set(ids))


def test_names_are_text_and_links_lead_somewhere() -> None:
    hostile = '<script>alert(1)</script>"><img src=x onerror=alert(2)>\u202e'
    model = submission(hostile, version=hostile[:40], training=(TrainingSet(name=hostile),))
    named = replace(SUITE.tasks[0], source=hostile)
    suite = replace(SUITE, tasks=(named, *SUITE.tasks[1:]))
    board = build_leaderboard(suite, [model], good_results(model, 0.2), items_of)
    files = render(board, Sources(public={"crystals@1"}, cards={"crystals@1": CRYSTALS_CARD}))
    page = files["tasks/crystals.html"].decode()
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert f"declares {hostile[:10]}" in PageReader(page.encode()).words
    for path in (path for path in files if path.startswith("tasks/")):
        for link in PageReader(files[path]).links:
            where = link.partition("#")[0].removeprefix("../")
            assert link.startswith("http") or not where or where in files, f"{path}: {link}"

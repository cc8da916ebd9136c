"""A task's page says what errors are divided by, of whom it tells shares, and errors by element."""

from __future__ import annotations

import re
from dataclasses import replace

from judge.pages.tasks.task_pages import pages
from judge.view.sources import Sources
from tasks.metrics.measurement import MetricPart
from tests.judge.pages.test_task_pages import Page, framed
from tests.world.board_records import FORCE, SUITE, error, good_results, result, submission, task


def test_equations_of_state_are_held_against_no_model() -> None:
    kind = "equation_of_state"
    suite = replace(SUITE, tasks=(*SUITE.tasks, task("volumes", kind, "Inorganic Materials")))
    one = submission("One")
    found = framed(suite, [one], [*good_results(one, 0.2), result(one, suite.tasks[-1], {"mae_volume": error(0.5)})])
    page = Page(pages(found)["tasks/volumes.html"])
    assert float(page.row("PBE against experiment")[2][1]) == 1.0
    assert "error of PBE against experiment )" in page.words
    for never in ("Composition only", "answers zero", "trivial model’s error", "error of the trivial model"):
        assert never not in page.words


def test_what_a_task_counts_is_told_of_the_first_of_the_ranking() -> None:
    """The best in everything has lost a task, and is not ranked: it leads nothing."""
    best, second = submission("Best"), submission("Second")
    results = [*good_results(best, 0.01)[:-1], *good_results(second, 0.5)]
    page = Page(pages(framed(SUITE, [best, second], results))["tasks/crystals.html"])
    assert "In the scores of Second , the first of the ranking" in page.words
    none = Page(pages(framed(SUITE, [best], results[: len(SUITE.tasks) - 1]))["tasks/crystals.html"])
    assert "No model is ranked, so there is none whose shares could stand here" in none.words
    assert "Share of the scores" not in none.words


def test_errors_by_element_are_the_medians_of_the_models() -> None:
    ones = [submission(name) for name in ("A", "B", "C")]
    made = []
    for one, value in zip(ones, (0.1, 0.2, 0.9), strict=True):
        first, *others = good_results(one, value)
        by = MetricPart(by="element", name="Fe", metric=FORCE, value=value, unit="eV/Å", n_items=10)
        made += [first.model_copy(update={"parts": (by,)}), *others]
    found = pages(framed(SUITE, ones, made, Sources(public={"crystals@1"})))
    assert "Fe: 200 meV/Å, 10 items" in found["tasks/crystals.html"].decode()
    assert b"data-figure" not in found["tasks/molecules.html"]
    ids = re.findall(r' id="([^"]+)"', found["tasks/crystals.html"].decode())
    assert len(ids) == len(set(ids))

"""Intervals of scores and ranks, tied models, and the robustness of the ranking."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.pages import index_page
from submissions.store.local import LocalStore
from tests.judge.pages.built_site import TWO, Page, build, fill, fill_two
from tests.judge.pages.page_reader import page_frame
from tests.world.board_records import SUITE, error, good_results, submission


@pytest.fixture
def orders_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two items are enough for an order, so that its pages can be worked out by hand."""
    monkeypatch.setattr("scoring.intervals.MIN_INDEPENDENT", 2)


def crossing(store: LocalStore, tmp_path: Path) -> Page:
    """The index of three models: alpha is better in one set, beta in the other, gamma is worse in both.

    The items of a set are one cluster, so the two sets are the items: Student's t of one degree, 12.7 standard errors.
    """
    fill_two(store, alpha=(error(0.2), error(0.6)), beta=(error(0.6), error(0.3)), gamma=(error(0.9), error(0.9)))
    pages, problems = build(store, tmp_path / "site", TWO)
    assert problems == []
    return pages[tmp_path / "site" / "index.html"]


@pytest.mark.usefixtures("orders_of_few")
def test_scores_and_ranks_have_intervals(store: LocalStore, tmp_path: Path) -> None:
    index = crossing(store, tmp_path)
    # Only the choice of sets can be resampled; each of the two metrics is held.
    held = "*, a lower bound of the width"
    rows = {name: index.cells("ranking-title", name) for name in ("alpha", "beta", "gamma")}
    assert rows["alpha"][:2] == ["1, 95 % interval 1–3", f"0.400 95 % interval 0.000 – 1.000 {held}"]
    assert rows["beta"][:2] == ["2, 95 % interval 1–3", f"0.450 95 % interval 0.004 – 1.000 {held}"]
    assert rows["gamma"][:2] == ["3, 95 % interval 2–3", f"0.900 95 % interval 0.900 – 0.900 {held}"]
    assert {a["title"] for _, a in index.tags if a.get("class") == "range" and "title" in a} == {
        "Lower bound of the width: 2 parts could not be resampled"
    }


def test_few_items_give_neither_order_nor_ties(store: LocalStore, tmp_path: Path) -> None:
    index = crossing(store, tmp_path)
    assert index.cells("ranking-title", "alpha")[0] == "1"
    assert index.classes["ranking-title"][1:4] == ["", "", ""]
    assert "tied with" not in index.text
    assert (
        "The order of the models may be chance: the score that ranks them has fewer than 30 independent items"
        in index.text
    )
    page = Page(tmp_path / "site" / "submissions" / f"{submission('beta').id}.html")
    assert "Rank 2 of 3, which may be chance: the score has fewer than 30 independent items" in page.words


@pytest.mark.usefixtures("orders_of_few")
def test_tied_models_are_joined_and_named(store: LocalStore, tmp_path: Path) -> None:
    """Two sets tell none of the three from another."""
    index = crossing(store, tmp_path)
    assert index.classes["ranking-title"][1:4] == ["tied odd", "tied odd", "tied odd"]
    assert index.text.count("tied with no. 1") == 2
    assert "tied with no. 1" in index.rows("ranking-title")[2][1]
    page = Page(tmp_path / "site" / "submissions" / f"{submission('beta').id}.html")
    assert "Rank 2 of 3, 1–3 on resampled test sets, tied with no. 1" in page.words


@pytest.mark.usefixtures("orders_of_few")
def test_robustness_of_the_ranking(store: LocalStore, tmp_path: Path) -> None:
    """Errors of alpha and beta: 0.6 and 0.3 without task `one`, 0.2 and 0.6 without `two`.

    alpha leads if the weight of `one` is more than 3/7.
    """
    index = crossing(store, tmp_path)
    table = "Robustness of the ranking by property error"
    alpha, beta, gamma = (index.cells(table, model) for model in ("alpha", "beta", "gamma"))
    assert [*alpha[:4], alpha[5]] == ["1", "1–3", "1–2", "1–2 2 without One", "0.000 – 1.000"]
    assert [*beta[:4], beta[5]] == ["2", "1–3", "1–2", "1–2 1 without One", "0.004 – 1.000"]
    assert [*gamma[:4], gamma[5]] == ["3", "2–3", "3", "3", "0.900 – 0.900"]
    assert [alpha[4], beta[4], gamma[4]] == ["0.000 – 1.000", "0.004 – 1.000", "0.900 – 0.900"]
    assert "may not carry over" not in index.text  # there is no order: all three are tied


def test_an_order_of_domains_with_one_set_may_not_carry_over(tmp_path: Path) -> None:
    """On these sets the models differ; of other sets nothing is known."""
    models = [submission(name) for name in ("alpha", "beta")]
    errors = (0.1, 0.35)
    results = [each for model, error in zip(models, errors, strict=True) for each in good_results(model, error)]
    path = tmp_path / "index.html"
    path.write_bytes(index_page.pages(page_frame(SUITE, models, results))["index.html"])
    table = Page(path).cells("Robustness of the ranking by force-field error", "beta")
    assert (table[1], table[5]) == ("2", "– order may not carry over")
    assert "Each domain has one test set here" in Page(path).text


def test_a_single_model_has_no_robustness(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha")
    pages, _ = build(store, tmp_path / "site")
    index = pages[tmp_path / "site" / "index.html"]
    assert "Only one model is ranked." in index.text
    assert not any(label.startswith("Robustness") for label in index.tables)

"""Scores under other schemes, by domain and under a reader’s weights, in a real browser."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from judge.publishing.site_files import build_site
from judge.view import formatting
from submissions.store.local import LocalStore
from tests.judge.pages.ranking_site import Watched, column, names, wait_for
from tests.servers.site_server import served
from tests.world.board_records import SUITE, good_metrics, result, save, submission

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import BrowserContext, Error, expect

pytestmark = [pytest.mark.slow, pytest.mark.together("ranking in a browser")]


def test_another_scheme_shows_the_numbers_of_the_file(ranking: Watched, ranking_site: Path) -> None:
    file = json.loads((ranking_site / "leaderboard.json").read_text())
    page = ranking.open()
    assert {scheme["variant"] for scheme in file["schemes"]} == {"corrected", "as_published"}
    for scheme in [*file["schemes"], file["schemes"][0]]:  # and back again
        page.get_by_label("Variant").select_option(scheme["variant"])
        page.get_by_role("combobox", name="Scheme").select_option(scheme["key"])
        ids = page.locator("#ranking tr[data-id]").evaluate_all("rows => rows.map(tr => tr.dataset.id)")
        for score in scheme["scores"]:
            values = [score["models"][id]["score"] if id in score["models"] else None for id in ids]
            shown = number_of_times if score["key"] == "efficiency" else formatting.decimals
            assert column(page, score["key"]) == [shown(value) for value in values]
        default = scheme is file["schemes"][0]
        expect(page.locator("[data-score-note]")).to_be_visible(visible=not default)
        assert page.locator("#ranking td.score .range:not(.live)").first.is_visible() == default
        without = page.locator("#ranking [data-above=unranked]")
        why = "a task of the suite failed" if scheme["complete_only"] else "the scores that determine the rank"
        expect(without).to_contain_text(why)
        assert ("counts as the worst" in without.inner_text()) == scheme["complete_only"]
    assert column(page, "force_field") == ["0.100", "0.200", "0.300", "0.505", "1.000"]  # composition only: last


def number_of_times(value: float | None) -> str:
    return formatting.number(value, 2)


def test_a_readers_weights_change_the_ranking(ranking: Watched) -> None:
    """alpha is best everywhere, so it stays first. With all weights at 0 there is no score; a button leads back."""
    page = ranking.open("?w.force_field/Molecules=0&w.property_error/Molecules=0")
    expect(page.locator("[data-score-note]")).to_contain_text("Your weights")
    assert names(page) == ["alpha", "gamma", "beta", "delta"]
    expect(page.locator("#ranking tr", has_text="delta").locator(".coverage").first).to_have_text("1 of 2 tasks")
    assert column(page, "property_error") == ["–"] * 5
    assert not page.locator("#ranking td.score .range").first.is_visible()
    assert column(page, "force_field")[3] == "0.010"  # the failed tasks have no weight
    page.get_by_role("button", name="Back to the published ranking").click()
    wait_for(page, lambda page: column(page, "property_error")[0], "0.100")
    expect(page.locator("[data-score-note]")).to_be_hidden()
    page.wait_for_url(f"{ranking.base}index.html")


def test_the_other_tables_sort_too(ranking_url: str, wide_context: BrowserContext) -> None:
    with wide_context.new_page() as page:
        page.goto(f"{ranking_url}firmness.html")
        robustness = page.locator("table").first
        robustness.get_by_role("button", name="Model").click()
        shown = [text.split()[0] for text in robustness.locator("th.model[scope=row]").all_text_contents()]
        assert shown == ["alpha", "beta", "gamma"]
        page.goto(f"{ranking_url}schemes.html")
        page.locator("#as-published").get_by_role("button", name="Property error").click()
        cells = page.locator("#as-published td.score:nth-of-type(2) .number").all_text_contents()
        assert cells == ["0.100", "0.200", "0.300", "–"]
        page.goto(f"{ranking_url}ml-peg.html")
        page.get_by_role("button", name="What is not measured").click()
        in_order = "cells => cells.every((td, i) => !i || cells[i - 1].innerText.localeCompare(td.innerText) <= 0)"
        assert page.locator("table.sortable td:last-child").evaluate_all(in_order)


def test_a_model_without_a_rank_comes_last(tmp_path: Path, wide_context: BrowserContext) -> None:
    """The second model by name has an infinite force-field error: a dash in place of a rank by it."""
    store = LocalStore(tmp_path / "store")
    for name, relative in (("a", 0.3), ("b", math.inf), ("c", 0.1)):
        model = submission(name)
        metrics = {**good_metrics(0.2), **{task: good_metrics(relative)[task] for task in ("crystals", "molecules")}}
        save(store, [model], [result(model, task, metrics[task.name]) for task in SUITE.tasks])
    build_site(store, SUITE, tmp_path / "site")
    with served(tmp_path / "site") as url, wide_context.new_page() as page:
        page.goto(f"{url}firmness.html")
        table = page.locator("table").first
        table.get_by_role("button", name="Model").click()
        table.get_by_role("button", name="Rank").click()
        assert table.locator("th.model[scope=row] a").all_text_contents() == ["c", "a", "b"]
        assert table.locator("td.rank").all_text_contents() == ["1", "2", "–"]


def test_intervals_that_could_not_be_loaded_are_asked_for_again(ranking_url: str, wide_context: BrowserContext) -> None:
    with wide_context.new_page() as page:
        errors: list[Error] = []
        page.on("pageerror", lambda error: errors.append(error))
        page.route("**/node-intervals-*.json", lambda route: route.abort())
        with page.expect_event("console", lambda message: message.type == "warning"):
            Watched(page, ranking_url).open("?column=force_field/Molecules")
        page.unroute("**/node-intervals-*.json")
        with page.expect_response("**/node-intervals-*.json") as response:
            page.get_by_label("Search models").fill("alpha")
        assert response.value.ok
        assert errors == []


def test_a_domain_has_its_own_ranking(ranking_url: str, wide_context: BrowserContext) -> None:
    """delta has a result in crystals only, and the domain has another task: it has no rank in any domain."""
    with wide_context.new_page() as page:
        page.goto(f"{ranking_url}domains.html")
        ranks = page.locator("table").first.locator("td.rank").all_text_contents()
        assert ranks == ["1", "2", "3", "–"]

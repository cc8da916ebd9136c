"""The first screen at three sizes, tints and bars, titles of tasks, and partly failed tasks, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from judge.pages.node_intervals import node_intervals_file
from judge.publishing.site_files import build_site
from judge.ranking.build import build_leaderboard
from judge.view.goodness import N_TINTS, goodness, tint
from submissions.records import StatedLabelSet, TrainingSet
from submissions.store.local import LocalStore
from tests.judge.pages.built_site import Page as ReadPage
from tests.servers.site_server import served
from tests.world.board_records import SUITE, good_results, items_of, save, submission

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect

TITLED = replace(
    SUITE, tasks=(*SUITE.tasks[:2], replace(SUITE.tasks[2], title="Barrier heights, diverse (DBH24)"), *SUITE.tasks[3:])
)
N_MODELS = 7
CHOOSER = 48  # CSS pixels of the closed block above the table, if it is not there
SIZES = {(400, 800): 1, (768, 1024): 5, (1280, 800): 5}
"""How many models are whole on the first screen, by the size of the window."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of seven models. Two failed a task, and in each task of the first some items failed."""
    folder = tmp_path_factory.mktemp("first")
    store = LocalStore(folder / "store")
    for number in range(N_MODELS):
        card = {
            "version": "1.2",
            "n_parameters": 10 ** (number + 3),
            "license": "MIT",
            "training": (TrainingSet(name="MPtrj"),),
            "label_sets": {"Inorganic Materials": StatedLabelSet(name="PBE")},
        }
        model = submission(f"Model {number}", **card)
        results = good_results(model, 0.1 * (number + 1))
        if number == 0:
            results = [each.model_copy(update={"failures": {"not finite": 2}}) for each in results]
        save(store, [model], results[:3] if number > 4 else results)
    build_site(store, TITLED, folder / "site", pytest.fail)
    return folder / "site"


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with served(folder) as url:
        yield url


def opened(browser: Browser, address: str, size: tuple[int, int], scripts: bool = True, query: str = "") -> Page:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, java_script_enabled=scripts)
    page = context.new_page()
    page.goto(f"{address}index.html{query}")
    if scripts:
        page.wait_for_selector("[data-board][data-ready]")
    return page


def bottom(page: Page, selector: str, number: int = 0) -> float:
    box = page.locator(selector).nth(number).bounding_box()
    assert box is not None
    return box["y"] + box["height"]


@pytest.mark.parametrize(("size", "n_models"), SIZES.items())
@pytest.mark.parametrize("scripts", [True, False])
def test_the_first_models_are_on_the_first_screen(
    browser: Browser, address: str, size: tuple[int, int], n_models: int, scripts: bool
) -> None:
    page = opened(browser, address, size, scripts)
    room = 0 if page.locator("[data-chooser]:visible").count() else CHOOSER
    assert bottom(page, "main h1") < bottom(page, "main .lede") < size[1] / 3
    assert bottom(page, "#ranking tr[data-id]", n_models - 1) <= size[1] - room
    if scripts:
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.context.close()


def test_what_is_judged_and_how_many_models_is_said_once(folder: Path) -> None:
    words = ReadPage(folder / "index.html").words
    assert "Machine-learned interatomic potentials" in words
    assert words.count("7 models, 5 of them ranked") == 1
    assert len(re.findall(r"\b7 models", words)) == 1
    assert "7 models, 5 of them ranked" in ReadPage(folder / "domains.html").words


def test_facts_of_a_model_are_columns_at_1280(browser: Browser, address: str) -> None:
    page = opened(browser, address, (1280, 800))
    shown = page.locator("#ranking tr[data-id]").first.locator("td.fact:visible").all_inner_texts()
    assert shown == ["1.00\u00a0k", "MPtrj", "MIT", "PBE", "2025-03-04"]
    page.context.close()


def test_a_tint_is_stronger_and_a_bar_longer_where_better() -> None:
    for lower in (True, False):
        shares = [goodness(value, 2.0, lower_is_better=lower) for value in (0.0, 0.5, 1.0, 2.0, 5.0)]
        assert shares == sorted(shares, key=lambda share: share or 0.0, reverse=lower)
    assert goodness(None, 1.0, lower_is_better=True) is None
    assert [tint(share) for share in (None, 0.0, 0.5, 1.0)] == ["", "", "t4", f"t{N_TINTS}"]


SHOWN = """() => [...document.querySelectorAll("[data-board] thead th")].map((th) => ({
  key: th.dataset.key,
  lower: th.textContent.includes("lower is better"),
  cells: [...document.querySelectorAll("#ranking tr[data-id]")].map((tr) => tr.cells[th.cellIndex]).map((td) => ({
    value: Number(td.querySelector(".number")?.textContent.replace("−", "-")),
    width: Number(td.querySelector(".bar rect")?.getAttribute("width")),
    step: Number(td.className.match(/\\bt(\\d)\\b/)?.[1] ?? 0),
  })),
})).filter(({ cells }) => cells.some(({ width }) => width > 0))"""


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?variant=as_published",
        "?scheme=ml-peg",
        "?w.force_field/Molecules=0",
        "?column=force_field/Molecules&column=task:crystals/force_rmse&column=task:barriers/mae",
        "?values=raw&column=task:crystals/force_rmse&column=task:barriers/mae&column=task:speed/efficiency",
    ],
)
def test_bars_and_tints_of_every_column_grow_with_quality(browser: Browser, address: str, query: str) -> None:
    page = opened(browser, address, (1280, 800), query=query)
    columns = page.evaluate(SHOWN)
    assert columns
    for column in columns:
        cells = [cell for cell in column["cells"] if cell["value"] == cell["value"]]  # not NaN
        best_first = sorted(cells, key=lambda cell: cell["value"] * (1 if column["lower"] else -1))
        for name in ("width", "step"):
            numbers = [cell[name] for cell in best_first]
            assert numbers == sorted(numbers, reverse=True), (column["key"], best_first)
        assert best_first[0]["width"] > best_first[-1]["width"] or best_first[0]["value"] == best_first[-1]["value"]
    page.context.close()


def test_another_scheme_has_intervals(browser: Browser, address: str) -> None:
    page = opened(browser, address, (1280, 800), query="?scheme=ml-peg")
    cell = page.locator("#ranking tr[data-id]").first.locator("td.score").first
    expect(cell.locator(".range")).to_have_text(re.compile(r"^[\d.]+\s–\s[\d.]+$"))
    page.context.close()


def test_the_file_of_intervals_has_those_of_domains_and_leaves() -> None:
    """In the order of the leaves of `leaderboard.json`."""
    board = build_leaderboard(
        SUITE, [model := submission("alpha")], good_results(model, 0.2), partial(items_of, n_items=40, n_clusters=40)
    )
    file = json.loads(node_intervals_file(board))
    uncertainty, term = board.robustness.intervals["force_field"][model.id], board.rows[0].scores["force_field"]
    entry = file["force_field"][model.id]
    for domain in term.parts:
        interval = uncertainty.nodes[term.name, domain.name]
        assert entry["parts"][domain.name] == [interval.low, interval.high]
    assert len(entry["leaves"]) == len(term.node.leaves)
    first = term.parts[0].parts[0].parts[0]
    interval = uncertainty.nodes[term.name, term.parts[0].name, term.parts[0].parts[0].name, first.name]
    assert entry["leaves"][0] == [interval.low, interval.high]


def test_no_link_is_called_by_the_id_of_a_task(folder: Path) -> None:
    link = re.compile(r"<a [^>]*>(?:<[^>]*>)*([^<]*)")
    names = {task.name for task in TITLED.tasks}
    titles = {task.label for task in TITLED.tasks}
    called: set[str] = set()
    for path in folder.rglob("*.html"):
        called |= {text.strip() for text in link.findall(path.read_text(encoding="utf-8"))}
    assert called & names == set()
    assert titles <= called
    task_page = ReadPage(folder / "tasks" / "barriers.html")
    assert "Barrier heights, diverse (DBH24)" in task_page.words
    assert re.search("Task ?barriers", task_page.words)  # the id, in small print


def test_ok_with_failed_items_is_partly_failed(folder: Path) -> None:
    pages = [folder / "tasks" / "barriers.html", next((folder / "submissions").glob("model-0*"))]
    for path in pages:
        chips = re.findall(
            r'<span class="chip (\w+)"[^>]*>(.*?)</span> ([^<]*)</span>', path.read_text(encoding="utf-8")
        )
        partly = [words for css, _, words in chips if css == "part"]
        assert partly, path
        assert all(re.fullmatch(r"2 of \d+ failed", words.strip()) for words in partly)


@pytest.mark.parametrize("name", ["index.html", "domains.html", "schemes.html", "firmness.html"])
def test_no_number_is_cut_and_no_page_is_wider_than_a_telephone(browser: Browser, address: str, name: str) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 800})
    page.goto(address + name)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    cut = page.locator("td .number, td .range").evaluate_all(
        "spans => spans.filter((span) => span.scrollWidth > span.clientWidth + 1"
        " && getComputedStyle(span).overflow === 'hidden').map((span) => span.textContent)"
    )
    assert cut == []
    page.close()


@pytest.mark.parametrize("name", ["index.html", "domains.html", "schemes.html", "firmness.html"])
def test_no_third_of_a_section_is_empty(browser: Browser, address: str, name: str) -> None:
    """At 1280 pixels something stands in the right third of each section."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(address + name)
    page.wait_for_load_state("networkidle")
    edges = page.evaluate(
        """() => [...document.querySelectorAll("main > section:not(.hero)")].map((section) => {
          const range = document.createRange();
          range.selectNodeContents(section);
          const boxes = [...range.getClientRects()].filter(({ width, height }) => width && height);
          return [section.id, Math.max(...boxes.map(({ right }) => right))];
        })"""
    )
    assert [section for section, right in edges if right < 1280 * 2 / 3] == []
    page.close()

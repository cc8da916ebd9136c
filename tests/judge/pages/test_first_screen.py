"""The first screen at three sizes, tints and bars, titles of tasks, and partly failed tasks, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import pytest

from judge.pages import data_files, index_page
from judge.pages.node_intervals import node_intervals_file
from judge.publishing.site_files import build_site
from judge.ranking.build import build_leaderboard
from judge.view.goodness import N_TINTS, goodness, tint
from judge.view.leaderboard_export import leaderboard_file
from judge.view.sources import Sources
from submissions.records import StatedLabelSet, TrainingSet
from submissions.store.local import LocalStore
from tests.judge.pages.built_site import Page as ReadPage
from tests.judge.pages.page_reader import page_frame
from tests.judge.pages.screen_rules import cut_texts, empty_parts, lay_out_all
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
    expect(cell.locator(".range")).to_have_text(re.compile(r"^[\d.]+\s–\s[\d.]+ \*$"))
    page.context.close()


def test_the_file_of_intervals_has_those_of_domains_and_leaves() -> None:
    """In the order of the leaves of `leaderboard.json`."""
    board = build_leaderboard(
        SUITE, [model := submission("alpha")], good_results(model, 0.2), partial(items_of, n_items=40, n_clusters=40)
    )
    file = json.loads(node_intervals_file(board, leaderboard_file(board, Sources())))
    uncertainty, term = board.robustness.intervals["force_field"][model.id], board.rows[0].scores["force_field"]
    entry = file["force_field"][model.id]
    for domain in term.parts:
        interval = uncertainty.nodes[term.name, domain.name]
        assert entry["parts"][domain.name] == [interval.low, interval.high, interval.n_held]
    assert len(entry["leaves"]) == len(term.node.leaves)
    first = term.parts[0].parts[0].parts[0]
    interval = uncertainty.nodes[term.name, term.parts[0].name, term.parts[0].parts[0].name, first.name]
    assert entry["leaves"][0] == [interval.low, interval.high, interval.n_held]


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


def laid_out(browser: Browser, url: str, width: int, scripts: bool = True) -> Page:
    """A page with all of its parts; without its scripts if they are not wanted, but with those of the test."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    if not scripts:
        page.route("**/*.js", lambda route: route.abort())
    page.goto(url, wait_until="networkidle")
    lay_out_all(page)
    return page


def kinds_of_pages(folder: Path) -> list[str]:
    """One page of each kind."""
    some = [min((folder / kind).glob("*.html")).relative_to(folder).as_posix() for kind in ("submissions", "tasks")]
    return [*sorted(path.name for path in folder.glob("*.html")), *some]


@pytest.mark.parametrize("scripts", [True, False])
def test_no_cell_is_cut_and_no_page_is_wider_than_a_telephone(
    browser: Browser, address: str, folder: Path, scripts: bool
) -> None:
    for name in kinds_of_pages(folder):
        page = laid_out(browser, address + name, 400, scripts)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), name
        assert cut_texts(page) == [], name
        page.close()


@pytest.mark.parametrize("damage", ["width: 60rem", "height: 3rem; overflow: hidden"])
def test_a_cut_number_is_found(browser: Browser, address: str, damage: str) -> None:
    page = laid_out(browser, f"{address}compare.html", 400)
    page.locator("table.compare").last.evaluate("(table, damage) => (table.style.cssText = damage)", damage)
    assert any(re.search(r"\d", text) for text in cut_texts(page))
    page.close()


def test_no_paragraph_is_torn_across_columns(browser: Browser, address: str) -> None:
    """Nor is the name of an importer broken in two."""
    for name, selector in (
        ("schemes.html", ".columns p"),
        ("index.html", ".side > .prose p"),
        ("ml-peg.html", "td.importer code"),
    ):
        page = laid_out(browser, address + name, 1280)
        pieces = page.locator(selector).evaluate_all("all => all.map((each) => each.getClientRects().length)")
        assert pieces
        assert set(pieces) <= {0, 1}, name
        page.close()


@pytest.mark.parametrize(("width", "n_columns"), [(1280, 2), (400, 1)])
def test_facts_of_tasks_stand_at_one_place(browser: Browser, address: str, width: int, n_columns: int) -> None:
    """A name of any length is beside them in a wide window, and above them in a narrow one."""
    page = laid_out(browser, f"{address}index.html", width)
    tasks = page.locator(".task-group li")
    tasks.locator("a").first.evaluate("name => (name.textContent = 'A long name of a task. '.repeat(3))")
    parts = tasks.locator("a, .aside").evaluate_all("parts => parts.map((part) => part.getBoundingClientRect().left)")
    assert len(set(parts)) == n_columns
    page.close()


def test_compared_models_stand_below_each_other_on_a_telephone(browser: Browser, address: str) -> None:
    page = laid_out(browser, f"{address}compare.html", 400)
    row = page.get_by_role("row", name="Force-field error").first  # a row in spite of the layout
    cells = [box for box in (cell.bounding_box() for cell in row.get_by_role("cell").all()) if box]
    assert len(cells) == 5
    assert len({box["x"] for box in cells}) == 1
    assert [box["y"] for box in cells] == sorted({box["y"] for box in cells})
    named = row.get_by_role("cell").evaluate_all("cells => cells.map(cell => cell.dataset.label)")
    assert named == [f"Model {number} 1.2" for number in range(5)]
    page.close()


def test_no_third_of_a_section_is_empty(browser: Browser, address: str, folder: Path) -> None:
    """In a window of 1280 × 800, no third of a section has nothing for more than a third of the window's height."""
    for name in kinds_of_pages(folder):
        page = laid_out(browser, address + name, 1280)
        assert empty_parts(page, 800 / 3) == [], name
        page.close()


@pytest.mark.parametrize(("section", "third"), [("tasks", 2), ("tasks", 0)])
def test_an_empty_third_is_found(browser: Browser, address: str, section: str, third: int) -> None:
    page = laid_out(browser, f"{address}index.html", 1280)
    damage = "padding-inline-end: 30rem" if third == 2 else "padding-inline-start: 30rem"
    page.locator(f"#{section}").evaluate("(part, damage) => (part.style.cssText = damage)", damage)
    assert (section, third) in {(part.section, part.third) for part in empty_parts(page, 800 / 3)}
    page.close()


@pytest.mark.parametrize("query", ["", "&values=raw"])
def test_added_columns_of_a_domain_and_a_task_have_intervals(browser: Browser, tmp_path: Path, query: str) -> None:
    models = [submission(name) for name in ("alpha", "beta")]
    board = page_frame(SUITE, models, [*good_results(models[0], 0.1), *good_results(models[1], 0.3)])
    files = {**board.assets.files, **data_files.pages(board), **index_page.pages(board)}
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    domain, task = "force_field/Inorganic Materials", "task:barriers/mae"
    keys = {"column": [domain, task]}
    with served(tmp_path) as url:
        page = opened(browser, url, (1280, 800), query=f"?{urlencode(keys, doseq=True)}{query}")
        intervals = json.loads(
            (tmp_path / str(page.locator("[data-board]").get_attribute("data-intervals"))).read_bytes()
        )
        for key in (domain, task):
            at = page.locator(f"[data-board] th[data-key='{key}']").evaluate("th => th.cellIndex")
            for model in models:
                cell = page.locator(f"#ranking tr[data-id='{model.id}'] > *").nth(at)
                expect(cell.locator(".number")).to_have_text(re.compile(r"\d"))
                known = intervals["force_field"][model.id]["parts"]["Inorganic Materials"]
                if key == task:
                    known = intervals["property_error"][model.id]["leaves"][0]
                if key == domain or not query:  # raw errors of tasks have the interval of no score
                    held = " *" if known[2] else ""
                    expect(cell.locator(".range")).to_have_text(f"{known[0]:.3f}\u00a0– {known[1]:.3f}{held}")
        label = "Mean absolute error, " + ("meV" if query else "normalised")
        expect(page.locator(f"[data-board] th[data-key='{task}']")).to_contain_text(label)
        page.context.close()


def test_a_reference_is_a_short_word_and_explained_on_demand(browser: Browser, tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    for name, error in (("alpha", 0.1), ("beta", 0.2), ("emt", 0.3)):
        save(store, [model := submission(name, version="1.2")], good_results(model, error))
    build_site(store, SUITE, tmp_path / "site", pytest.fail, references=["emt"])
    with served(tmp_path / "site") as url:
        page = opened(browser, url, (1280, 800))
        row, ranked = page.locator("[data-rows=reference] tr").first, page.locator("[data-rows=ranked] tr").first
        height, usual = (each.evaluate("row => row.clientHeight") for each in (row, ranked))
        assert height <= 1.5 * usual
        row.get_by_text("reference", exact=True).click()
        expect(row.get_by_text("Judged like any other model")).to_be_visible()
        page.context.close()

"""The panel of weights and thresholds in a real browser: it changes scores and the address, and can be reset."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.publishing.site_files import build_site
from judge.records.items_file import items_path, pack_items
from judge.view.leaderboard_schema import FILE, LeaderboardFile
from scoring import explain
from submissions.store.local import LocalStore
from tasks.structures.predictions import Cause
from tests.servers.site_server import served
from tests.world.board_records import ENERGY, SUITE, error, good_results, result, runs, save, submission
from tests.world.leaderboard_reader import score_of_file
from tests.world.one_tree import score
from tests.world.reader_settings import Settings, with_settings

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

FORCE_FIELD, CRYSTALS = "Force-field error", "Inorganic Materials"
MODELS = {"alpha": 0.1, "beta": 0.3}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of two models with equal errors in all tasks, and of one that is better in molecules."""
    folder = tmp_path_factory.mktemp("settings")
    store = LocalStore(folder / "store")
    for name, relative in MODELS.items():
        model = submission(name)
        save(store, [model], good_results(model, relative))
    gamma = submission("gamma")
    metrics = {ENERGY: error(0.01), "force_rmse": error(0.02, "eV/Å")}
    others = [r for r in good_results(gamma, 0.6) if r.task != "molecules"]
    save(store, [gamma], [*others, result(gamma, SUITE.tasks[1], metrics)])
    drift = next(r for r in others if r.task == "drift")
    late = runs([1e-6, math.nan], [Cause.NONE, Cause.OVER_TIME])
    store.put(items_path(drift.submission, drift.task, drift.result_key), pack_items(late))
    build_site(store, SUITE, folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def file(folder: Path) -> LeaderboardFile:
    return LeaderboardFile.model_validate_json((folder / FILE).read_bytes())


@pytest.fixture(scope="module")
def served_at(folder: Path, browser: Browser) -> Iterator[tuple[str, Browser]]:
    with served(folder) as base:
        yield base, browser


@pytest.fixture
def page(served_at: tuple[str, Browser]) -> Iterator[Page]:
    """The leaderboard with the panel open; a test fails if the page writes to the console."""
    base, browser = served_at
    context: BrowserContext = browser.new_context(base_url=base)
    opened = context.new_page()
    messages: list[str] = []
    opened.on("console", lambda message: messages.append(message.text))
    opened.on("pageerror", lambda error: messages.append(str(error)))
    opened.goto("index.html")
    open_panel(opened)
    yield opened
    context.close()
    assert messages == []


def open_panel(page: Page) -> None:
    page.locator("[data-settings] > summary").click()


def open_score(page: Page, label: str = FORCE_FIELD) -> Locator:
    panel = page.locator("details.settings-score", has=page.locator("summary", has_text=label))
    panel.locator("> summary").click()
    return panel


def weight(page: Page, *inside_out: str) -> Locator:
    return page.get_by_role("spinbutton", name=f"weight of {', '.join(inside_out)}", exact=True)


def expected(file: LeaderboardFile, settings: Settings, key: str = "force_field") -> dict[str, float]:
    """The score of every model by Python."""
    scored = next(s for s in file.schemes[0].scores if s.key == key)
    trees = {model.name: score_of_file(scored, model.id) for model in file.models}
    return {name: float(score(with_settings(tree, settings))) for name, tree in trees.items() if tree is not None}


def expect_scores(page: Page, scores: dict[str, float]) -> None:
    """The ranking shows these force-field errors, best first."""
    rows = page.locator("#ranking table.board tbody tr:visible:has(th.model)")
    ordered = sorted((name for name in scores if name in (*MODELS, "gamma")), key=lambda name: scores[name])
    for row, name in enumerate(ordered):
        expect(rows.nth(row).locator("th.model")).to_contain_text(name)
        expect(rows.nth(row)).to_contain_text(f"{scores[name]:.3f}")


def query(page: Page) -> str:
    return page.evaluate("location.search")


def expect_query(page: Page, wanted: str) -> None:
    """Waits for the address, which is written after a moment."""
    page.wait_for_function("wanted => location.search === wanted", arg=wanted)


def test_fields_are_made_when_they_are_opened(page: Page) -> None:
    assert page.locator("[data-settings] input").count() == 0
    panel = open_score(page)
    expect(panel.locator("input[type=number]")).to_have_count(2)  # one for each domain
    panel.locator(".settings-tree summary").first.click()
    expect(panel.locator("input[type=number]")).to_have_count(5)  # and for the label types of one domain


def test_a_weight_moves_scores_and_the_address(page: Page, file: LeaderboardFile) -> None:
    expect_scores(page, expected(file, Settings()))
    panel = open_score(page)
    weight(page, CRYSTALS).fill("0")
    expect_scores(page, expected(file, Settings({(CRYSTALS,): 0.0})))  # gamma comes first
    assert expected(file, Settings({(CRYSTALS,): 0.0}))["gamma"] < 0.02
    expect(panel.locator(".settings-share").all()[0]).to_have_text("0 %")
    expect(panel.locator(".settings-share").all()[1]).to_have_text("100 %")
    expect_query(page, "?w.force_field/Inorganic+Materials=0")
    expect(page.locator("[data-settings-count]")).to_have_text(" · 1 changed")

    page.reload()  # the address holds it
    expect_scores(page, expected(file, Settings({(CRYSTALS,): 0.0})))
    open_panel(page)
    open_score(page)
    expect(weight(page, CRYSTALS)).to_have_value("0")
    page.get_by_role("button", name=f"reset weight of {CRYSTALS}").click()
    expect_scores(page, expected(file, Settings()))
    expect_query(page, "")


def test_a_slider_and_the_keyboard_set_the_same_weight(page: Page) -> None:
    open_score(page)
    slider = page.get_by_role("slider", name=f"weight of {CRYSTALS}, 0 to 4")
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    expect(weight(page, CRYSTALS)).to_have_value("1.5")
    page.keyboard.press("Home")
    expect(weight(page, CRYSTALS)).to_have_value("0")
    weight(page, CRYSTALS).focus()
    page.keyboard.press("ArrowUp")
    expect(slider).to_have_value("0.1")
    expect_query(page, "?w.force_field/Inorganic+Materials=0.1")


def test_a_threshold_counts_in_all_models(page: Page, file: LeaderboardFile) -> None:
    panel = open_score(page)
    panel.locator(".settings-tree summary").nth(1).click()
    panel.locator(".settings-tree .settings-tree summary").first.click()
    name = f"counts 1 at: the error that counts 1, of {ENERGY} in Molecules"
    page.get_by_role("spinbutton", name=name, exact=True).fill("0.5")
    expect_scores(page, expected(file, Settings(thresholds={("molecules", ENERGY, "baseline"): 0.5})))
    expect_query(page, f"?t.molecules/{ENERGY}/baseline=0.5")


@pytest.mark.parametrize("bad", ["-1", "", "1001"])
def test_an_invalid_weight_changes_nothing(page: Page, file: LeaderboardFile, bad: str) -> None:
    open_score(page)
    field = weight(page, CRYSTALS)
    field.fill("2")
    expect_query(page, "?w.force_field/Inorganic+Materials=2")
    field.fill(bad)
    expect(field).to_have_attribute("aria-invalid", "true")
    wants = page.locator(f"[id='{field.get_attribute('aria-describedby')}']")
    expect(wants).to_have_text("A number from 0 to 1000.")
    expect_scores(page, expected(file, Settings({(CRYSTALS,): 2.0})))
    assert query(page) == "?w.force_field/Inorganic+Materials=2"


def test_presets_and_reset_all(page: Page, file: LeaderboardFile) -> None:
    presets = page.get_by_label("Preset")
    presets.select_option("Molecules alone")
    expect_scores(page, expected(file, Settings({(CRYSTALS,): 0.0})))
    open_score(page)
    expect(weight(page, CRYSTALS)).to_have_value("0")
    weight(page, "Molecules").fill("3")
    expect(presets).to_have_value("Your own")
    page.get_by_role("button", name="Reset all").click()
    expect(presets).to_have_value("")
    expect(presets).to_be_focused()  # the reset button is disabled now and cannot keep it
    expect(weight(page, CRYSTALS)).to_have_value("1")
    expect_scores(page, expected(file, Settings()))
    expect_query(page, "")


SHOWN = """rows => rows.map((tr) => {
  const [rank, model, score] = tr.cells;
  return [model.textContent.trim(), `${rank.textContent.trim()}: ${score.querySelector(".number").textContent}`];
})"""


def by_domain(page: Page, domain: str) -> list[list[str]]:
    """Name, rank and force-field error of each shown row in the table of a domain."""
    return page.locator(f"table[data-domain='{domain}'] tbody tr").evaluate_all(SHOWN)


def in_matrix(page: Page, domain: str) -> list[list[str]]:
    """Name and force-field error in a domain of each shown row of the matrix of the first page, the best first."""
    head = page.locator(f"[data-matrix] th[data-score='force_field'][data-domain='{domain}']")
    index = head.evaluate("th => th.cellIndex")
    number = "tr.cells[i].querySelector('.number').textContent"
    cells = f"(rows, i) => rows.map((tr) => [tr.cells[0].textContent.trim(), {number}])"
    rows: list[list[str]] = page.locator("[data-matrix] tbody tr").evaluate_all(cells, index)
    return sorted(rows, key=lambda row: row[1])


def in_domain(file: LeaderboardFile, domain: str, settings: Settings) -> list[list[str]]:
    """The same by Python."""
    errors = {}
    for model in (model for model in file.models if model.page):
        tree = score_of_file(file.schemes[0].scores[0], model.id)
        assert tree is not None
        parts = {part.name: part.value for part in explain(with_settings(tree, settings)).parts}
        errors[model.name] = parts[domain]
    ordered = sorted(errors, key=lambda name: errors[name])
    return [[name, f"{place}: {errors[name]:.3f}"] for place, name in enumerate(ordered, 1)]


def without_places(rows: list[list[str]]) -> list[list[str]]:
    return [[name, ranked.split(": ")[1]] for name, ranked in rows]


def test_tables_by_domain_follow(page: Page, file: LeaderboardFile) -> None:
    """A weight and a threshold within a domain, also on the page with all models; a button leads back."""
    baseline = (SUITE.tasks[0].name, ENERGY, "baseline")
    mine = in_domain(file, CRYSTALS, Settings({(CRYSTALS, "force"): 0.0}, {baseline: 2.0}))
    published, molecules = (in_domain(file, domain, Settings()) for domain in (CRYSTALS, "Molecules"))
    assert in_matrix(page, CRYSTALS) == without_places(published) != without_places(mine)
    note = page.locator("[data-domain-note]")
    expect(note).to_be_hidden()
    open_score(page).locator(".settings-tree summary").first.click()
    weight(page, "force", CRYSTALS).fill("0")
    expect(note).to_contain_text("Your weights")
    page.goto(f"index.html?w.force_field/Inorganic+Materials/force=0&t.{'/'.join(baseline)}=2")
    expect(note).to_contain_text("Your weights")
    assert in_matrix(page, CRYSTALS) == without_places(mine)
    page.get_by_role("link", name="All models, ranked within each domain").click()
    expect(note).to_contain_text("Your weights")
    assert by_domain(page, CRYSTALS) == mine
    assert by_domain(page, "Molecules") == molecules
    expect(page.get_by_role("heading", name="Molecules")).to_contain_text("3 models, 3 of them ranked")
    page.get_by_role("button", name="Back to the published tables").click()
    expect(note).to_be_hidden()
    expect(page.locator("table[data-domain] th button").first).to_be_focused()
    assert by_domain(page, CRYSTALS) == published
    expect_query(page, "")


def test_the_largest_possible_instability_orders_rows_under_a_readers_weights(page: Page) -> None:
    """A run of gamma was not measured: rows are ordered by its largest possible instability."""
    gamma = page.locator("#ranking tr[data-id]", has_text="gamma")
    words = ["up to 2.500", "1 of 2 runs"]
    expect(gamma.locator(".coverage:visible")).to_have_text(words)
    open_score(page)
    weight(page, CRYSTALS).fill("0")
    expect(page.locator("[data-score-note]")).to_contain_text("Your weights")
    expect(gamma.locator(".coverage:visible")).to_have_text(words)


def test_invalid_settings_of_an_address_are_dropped(page: Page, file: LeaderboardFile) -> None:
    """Invalid: a baseline of zero, a cap below the floor, an unbounded factor. Valid settings stay."""
    good = "w.force_field/Inorganic+Materials=0"
    bad = f"t.molecules/{ENERGY}/baseline=0&t.molecules/force_rmse/cap=1e-9&w.force_field/Molecules=1e300"
    page.goto(f"index.html?{bad}&{good}")
    expect_query(page, f"?{good}")
    expect_scores(page, expected(file, Settings({(CRYSTALS,): 0.0})))


def test_the_panel_is_hidden_without_a_script(served_at: tuple[str, Browser]) -> None:
    base, browser = served_at
    with browser.new_context(java_script_enabled=False, base_url=base) as context:
        page = context.new_page()
        page.goto("index.html")
        expect(page.locator("[data-settings]")).to_be_hidden()

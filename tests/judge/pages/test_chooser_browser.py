"""The chooser in a real browser: it ranks as Python does, and a reader needs at most three clicks to a named model."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from judge.pages.chooser import Need
from judge.publishing.folder import publish
from judge.publishing.site_files import site_files
from judge.ranking.item_makeup import StructureClass
from scoring.choice import Choice, independent_items, ranking_of_choice
from scoring.choice_sums import ErrorColumn, ModelSums, ReferenceSums, SimulatedRuns, SumGroup, TaskSums
from tests.judge.pages.choice_site import choice_site
from tests.judge.pages.ranking_site import Watched
from tests.servers.site_server import served

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.slow
SCRIPTS = Path(__file__).parents[3] / "templates" / "js"
N_CHOICES, SAME = 200, 1e-12
SYMBOLS = ("H", "C", "O", "Na", "Cl", "Cu")
TEMPERATURES, LENGTHS = (270.0, 300.0, 330.0, 800.0), (0.001, 0.02, 1.0)
MODELS = tuple(f"model-{k}" for k in range(8))

RANK = """async ([tasks, models, choices]) => {
  const { choiceOf, independentItems, rankingOfChoice } = await import("./js/chooser_rank.js");
  return choices.map((asked) => {
    const choice = choiceOf(asked);
    return [rankingOfChoice(tasks, models, choice), independentItems(tasks, choice)];
  });
}"""


def random_tasks(rng: np.random.Generator) -> list[TaskSums]:
    """Tasks of one to three columns, with models that failed, errors above 1, groups of one cluster, and no errors."""
    return [
        TaskSums(f"task {k}", tuple(random_column(rng, k) for k in range(rng.integers(1, 4))), random_runs(rng))
        for k in range(6)
    ]


def random_runs(rng: np.random.Generator) -> SimulatedRuns | None:
    low, high = sorted(rng.choice(TEMPERATURES, 2).tolist())
    runs = SimulatedRuns((low, high) if rng.random() < 0.8 else None, float(rng.choice(LENGTHS)))
    return runs if rng.random() < 0.6 else None


def random_column(rng: np.random.Generator, number: int) -> ErrorColumn:
    n = int(rng.integers(1, 8))
    sets = [tuple(sorted(rng.choice(SYMBOLS, rng.integers(1, 4), replace=False).tolist())) for _ in range(n)]
    classes = [tuple(sorted(set(rng.choice(list(StructureClass), 1 + (k == 0)).tolist()))) for k in range(n)]
    references = []
    for _ in range(2):
        trivial = rng.lognormal(size=n) * (rng.random(n) > 0.05)
        n_items, n_clusters = (rng.integers(1, most, n).tolist() for most in (50, 30))
        shared = zip(sets, classes, n_items, n_clusters, trivial.tolist(), (trivial**2).tolist(), strict=True)
        groups = [SumGroup(*values) for values in shared]
        factor, floor = (1.0, 0.001) if rng.random() < 0.7 else (float(rng.uniform(0.1, 2)), 0.0)
        blocks = tuple(sorted(rng.integers(0, n, int(rng.integers(0, 120))).tolist()))
        of_blocks = tuple(rng.lognormal(size=len(blocks)).tolist())
        dependence = float(rng.choice([1.0, 16.7]))
        references.append(ReferenceSums(tuple(groups), factor, floor, blocks, of_blocks, dependence))
    models = {}
    for model in MODELS:
        if rng.random() < 0.85:
            size = rng.choice([0.0, 0.1, 0.5, 3.0], p=[0.05, 0.5, 0.4, 0.05])
            errors = size * rng.lognormal(size=n)
            slopes, failed = rng.normal(0, 0.01, n), rng.integers(0, 3, n)
            spreads = 0.01 * rng.lognormal(size=n)
            errors, spreads, slopes = (tuple(array.tolist()) for array in (errors, spreads, slopes))
            reference = int(rng.integers(0, 2))
            blocks = tuple((size * rng.lognormal(size=len(references[reference].block_groups))).tolist())
            models[model] = ModelSums(reference, errors, spreads, slopes, tuple(failed.tolist()), blocks)
    needs = tuple(rng.choice(list(Need), rng.integers(1, 3), replace=False).tolist())
    return ErrorColumn(f"metric {number}", needs, bool(rng.random() < 0.4), tuple(references), models)


def random_choices(rng: np.random.Generator) -> list[dict[str, Any]]:
    def some(names: Sequence[str], empty: float) -> list[str]:
        return [] if rng.random() < empty else [str(name) for name in names if rng.random() < 0.6]

    return [
        {
            "elements": some(SYMBOLS, 0.3),
            "classes": some(list(StructureClass), 0.5),
            "needs": some(list(Need), 0.5),
            "temperature_k": float(rng.choice(TEMPERATURES)) if rng.random() < 0.2 else None,
            "length_ns": float(rng.choice(LENGTHS)) if rng.random() < 0.2 else None,
        }
        for _ in range(N_CHOICES)
    ]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, (int, float)):
        return abs(one - other) <= SAME * max(1.0, abs(one))
    return one == other


def test_the_browser_ranks_200_random_choices_as_python_does(browser: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    shutil.copytree(SCRIPTS, tmp_path / "js")
    (tmp_path / "index.html").write_text("<!doctype html><title>empty</title>")
    n_ranked = n_tied = n_unknown = 0
    with served(tmp_path) as base, browser.new_page() as page:
        page.goto(f"{base}index.html")
        for _ in range(4):
            tasks, choices = random_tasks(rng), random_choices(rng)[: N_CHOICES // 4]
            plain = json.loads(TypeAdapter(list[TaskSums]).dump_json(tasks))
            for asked, (in_browser, independent) in zip(
                choices, page.evaluate(RANK, [plain, MODELS, choices]), strict=True
            ):
                texts = {name: frozenset(asked[name]) for name in ("elements", "classes", "needs")}
                choice = Choice(**{**asked, **texts})
                by_python = [vars(model) for model in ranking_of_choice(tasks, MODELS, choice)]
                assert len(in_browser) == len(by_python)
                for one, other in zip(by_python, in_browser, strict=True):
                    assert one.keys() == other.keys()
                    assert all(same(one[name], other[name]) for name in one), (one, other)
                assert independent == independent_items(tasks, choice)
                n_ranked += bool(by_python)
                n_tied += sum(model["tied"] is True for model in by_python)
                n_unknown += sum(model["low"] is None for model in by_python)
    assert n_ranked > N_CHOICES / 2
    assert n_tied > n_ranked
    assert n_unknown > 10


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("chooser")
    site = choice_site(folder)
    publish(site_files(site.store, site.board, site.sources), folder / "site")
    with served(folder / "site") as base:
        yield base


@pytest.fixture
def watched(browser: Browser, url: str) -> Iterator[Watched]:
    """The first page: a test fails if it writes to the console or requests anything from elsewhere."""
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context, context.new_page() as page:
        watched = Watched(page, url)
        watched.open()
        yield watched
        assert watched.messages == []
        assert all(request.startswith(url) for request in watched.requests)


class Reader:
    """Counts clicks."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def click(self, role: str, name: str) -> None:
        self.page.locator("[data-chooser]").get_by_role(role, name=name).first.click()
        self.clicks += 1

    def open(self) -> None:
        self.page.locator("[data-chooser] > summary").click()
        self.clicks += 1

    def first(self) -> list[str]:
        """The cells of the first model."""
        row = self.page.locator("[data-result] tbody tr").first
        row.wait_for()
        return [" ".join(text.split()) for text in row.locator("th, td").all_text_contents()]


@pytest.mark.parametrize(
    ("preset", "task"),
    [
        ("Barriers on surfaces", "Reactions on metals"),
        ("Molten salts in MD", "Molten salts"),
        ("Conformers of drug-like molecules", "Conformers of drugs"),
    ],
)
def test_three_clicks_lead_to_a_named_model_with_its_interval(watched: Watched, preset: str, task: str) -> None:
    """Barriers on a surface; a molten salt in MD; drug-like conformers."""
    reader = Reader(watched.page)
    assert not any("choices" in request for request in watched.requests)  # loaded on demand
    reader.open()
    reader.click("link", preset)
    place, model, error, _, ns = reader.first()
    assert (place, model) == ("1", "Steady")
    assert re.fullmatch(r"0\.\d{3}95 % interval 0\.\d{3} – 0\.\d{3}", error)
    assert ns == "9.6"
    assert task in watched.page.locator("[data-result]").inner_text()
    reader.page.locator("[data-result] tbody th a").first.click()
    reader.clicks += 1
    assert reader.clicks <= 3
    assert watched.page.locator("h1").inner_text().startswith("Steady")


def test_the_choice_is_in_the_address(watched: Watched, url: str) -> None:
    page, chooser = watched.page, watched.page.locator("[data-chooser]")
    page.locator("[data-chooser] > summary").click()
    chooser.get_by_label("Elements").fill("na, Cl")
    chooser.get_by_label("liquid").check()
    chooser.get_by_label("long MD").check()
    chooser.get_by_label("At least, ns a day").fill("20")
    chooser.get_by_role("status").get_by_text("2 of 3 models by 4 items of 1 task.").wait_for()
    names = ["Rough", "Wild"]
    assert page.locator("[data-result] tbody th a").all_text_contents() == names
    page.wait_for_url(re.compile(r"for\.class=liquid&for\.elements=na%2C\+Cl&for\.need=dynamics&for\.ns=20$"))
    page.goto(page.url)  # a copy of the address shows the same
    page.locator("[data-result] tbody th").first.wait_for()
    assert page.locator("[data-result] tbody th a").all_text_contents() == names
    page.get_by_role("searchbox").fill("Rough")  # another setting keeps the choice
    page.wait_for_url(re.compile(r"for\.class=liquid.*search=Rough"))
    chooser.get_by_role("button", name="Clear").click()
    page.wait_for_url(f"{url}index.html?search=Rough")
    assert page.locator("[data-result]").inner_text() == ""


def test_runs_at_other_conditions_are_named_as_such(watched: Watched) -> None:
    """A molten salt at 800 K for 1 ns: the suite has 1 ps alone; for 1 ps it says nothing of the kind."""
    page = watched.page
    page.locator("[data-chooser] > summary").click()
    chooser = page.locator("[data-chooser]")
    chooser.get_by_role("link", name="Molten salts in MD").click()
    chooser.get_by_label("At, K").fill("800")
    chooser.get_by_label("For, ns").fill("1")
    words = "No task runs such systems at 800 K for 1 ns. Here are the runs that there are: 3 models by 12 items"
    chooser.get_by_role("status").get_by_text(words).wait_for()
    assert "800 K for 1 ps" in page.locator("[data-result]").inner_text()
    assert page.locator("[data-result] tbody th a").first.inner_text() == "Steady"
    page.wait_for_url(re.compile(r"for\.length=1&for\.need=dynamics&for\.temperature=800$"))
    chooser.get_by_label("For, ns").fill("0.001")
    chooser.get_by_role("status").get_by_text(re.compile("^3 models by 12 items")).wait_for()
    assert "long runs" not in chooser.get_by_role("status").inner_text()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("for.temperature=800&for.need=barriers", "No task of this leaderboard answers this question."),
        ("for.class=molecule&for.need=conformers", "3 models by 60 items of 1 task."),
        ("for.class=drug-like&for.need=conformers", "3 models by 12 items of 1 task."),
        ("for.temperature=310&for.class=crystal", "3 models by 12 items of 1 task."),
        ("for.elements=Xe", "No task of this leaderboard answers this question."),
        ("for.need=barriers&for.class=crystal", "No task of this leaderboard answers this question."),
        ("for.need=barriers&for.atoms=100000", "No model has this speed at a size that was measured."),
        ("for.need=speed", "3 models, the fastest first."),
        ("for.need=dynamics&for.class=crystal", "The runs are 20 fs long and say little of long runs."),
        ("for.need=dynamics", "The runs are 20 fs to 1 ps long and say little of long runs."),
    ],
)
def test_it_says_what_it_cannot_answer(watched: Watched, query: str, words: str) -> None:
    page = watched.open(f"?{query}")
    page.locator("[data-chooser]").get_by_role("status").get_by_text(words).wait_for()


def test_speed_alone_sorts_by_time_and_beside_other_needs_it_changes_nothing(watched: Watched) -> None:
    page = watched.open("?for.class=crystal&for.need=speed")
    state, result = page.locator("[data-chooser] [role=status]"), page.locator("[data-result]")
    words = r"^By speed on .+: 3 models, the fastest first\. The errors are by 72 items of 2 tasks\.$"
    state.get_by_text(re.compile(words)).wait_for()
    result.locator("tbody th").first.wait_for()
    assert result.locator("tbody th a").all_text_contents() == ["Wild", "Rough", "Steady"]
    assert "tied" not in result.inner_text()
    assert result.locator("thead th").all_text_contents()[2:4] == ["Error", "ms per step ↓"]
    answers = []
    for needs in ("forces", "forces+speed"):
        watched.open(f"?for.class=crystal&for.need={needs}")
        result.locator("tbody th").first.wait_for()
        answers.append((state.inner_text(), result.inner_text()))
    assert answers[0] == answers[1]
    assert re.findall(r"^\d\t(\w+)", answers[0][1], re.MULTILINE) == ["Steady", "Rough", "Wild"]
    assert "Energy drift" not in answers[0][1]


def test_times_of_two_machines_are_said_not_to_compare(browser: Browser, url: str) -> None:
    def with_another(route: Route) -> None:
        answer = route.fetch()
        listed = answer.json()
        listed["speeds"][0]["hardware"] = "another machine"
        route.fulfill(response=answer, json=listed)

    with browser.new_page() as page:
        page.route(re.compile(r"choices-[0-9a-f]{12}\.json$"), with_another)
        page.goto(f"{url}index.html?for.need=speed")
        words = "By speed: 3 models, the fastest first. Times of different machines or sizes do not compare"
        page.locator("[data-chooser]").get_by_role("status").get_by_text(words).wait_for()


def test_the_lines_below_say_what_an_error_of_one_is_and_how_intervals_differ(watched: Watched, url: str) -> None:
    page, result = watched.open("?for.need=forces"), watched.page.locator("[data-result]")
    trivial, drift = "1 is no better than a trivial model.", "For energy drifts, 1 is the largest that counts."
    result.get_by_text(f"0 is perfect. {trivial} A failed task counts 1.").wait_for()
    result.get_by_text("These intervals are by a closed formula").wait_for()
    watched.open("?for.need=dynamics&for.class=crystal")
    result.get_by_text(f"0 is perfect. {drift} A failed task counts 1.").wait_for()
    watched.open("?for.class=crystal")
    result.get_by_text(f"0 is perfect. {trivial} {drift} A failed task counts 1.").wait_for()
    result.get_by_role("link", name="resampled").click()
    page.wait_for_url(f"{url}how.html#intervals")
    page.locator("#intervals").get_by_text("resamples").wait_for()


def test_speed_is_blank_where_none_was_measured(watched: Watched) -> None:
    page = watched.open("?for.need=conformers")
    page.locator("[data-result] tbody th").first.wait_for()
    assert page.locator("[data-result] tbody tr").first.locator("td").all_text_contents()[-2:] == [
        "9.0100 atoms",
        "9.6",
    ]
    page.locator("[data-chooser]").get_by_label("Atoms").fill("120")
    page.locator("[data-result]").get_by_text("120 atoms").first.wait_for()
    assert page.locator("[data-result] tbody th a").all_text_contents() == ["Steady", "Rough", "Wild"]


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1280, "light")])
def test_an_answer_has_no_violation_and_fits(browser: Browser, url: str, width: int, scheme: str) -> None:
    with browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        page.goto(f"{url}index.html?for.class=surface&for.need=barriers")
        page.locator("[data-result] tbody th").first.wait_for()
        assert [each["id"] for each in Axe().run(page, "[data-chooser]").response["violations"]] == []
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        frame = page.locator("[data-result] .table-frame")
        assert frame.evaluate("node => node.scrollWidth <= node.clientWidth")


def test_closed_it_is_one_line(browser: Browser, url: str) -> None:
    for width in (400, 1280):
        with browser.new_page(viewport={"width": width, "height": 900}) as page:
            page.goto(f"{url}index.html")
            page.locator("[data-chooser]").wait_for()
            box = page.locator("[data-chooser]").bounding_box()
            assert box is not None
            assert box["height"] <= 48

"""The pages: hostile names are text, nothing foreign is loaded, links lead somewhere, and publishing is careful."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from judge.publishing.folder import MANIFEST, publish
from judge.publishing.site_files import build_site
from judge.records.items_file import items_path, pack_items, result_path
from judge.view.formatting import evidence_words, is_web_address, number, percent, plain, rank_span, signed
from judge.view.score_display import published_words
from sandbox.verdict import Verdict
from scoring import RawMetric, load_release
from scoring.intervals import Interval
from submissions.records import StatedLabelSet, TrainingSet
from submissions.store.local import LocalStore
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite
from tests.world.board_records import SUITE, error, frames_metrics, good_results, result, save, submission, task

HOSTILE = (
    '<script>alert(1)</script>"><img src=x onerror=alert(2)>',
    "{{ 7 * 7 }}{% raw %}",
    "\u202ereversed \u05e9\u05dc\u05d5\u05dd \u2066unclosed",
    "🧪" * 200,
    "W" * 200,
    "javascript:alert(1)",
    "nul\x00 and \x1b[31m",
)
LOADING = {"src", "srcset", "poster", "data", "action", "formaction", "background"}


class Page(HTMLParser):
    """What a page is made of: tags with their attributes, ids, all text, and tables by what labels them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.tables: dict[str, list[list[str]]] = {}
        self.classes: dict[str, list[str]] = {}  # of each row
        self._table = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        self.tags.append((tag, of))
        if tag == "table":
            self._table = of.get("aria-labelledby") or of.get("aria-label") or ""
            self.tables[self._table], self.classes[self._table] = [], []
        elif tag == "tr" and self._table:
            self.tables[self._table].append([])
            self.classes[self._table].append(of.get("class") or "")
        elif tag in ("td", "th") and self._table:
            self.tables[self._table][-1].append("")

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._table = ""

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._table and self.tables[self._table] and self.tables[self._table][-1]:
            self.tables[self._table][-1][-1] += data

    def rows(self, table: str) -> list[list[str]]:
        """The text of every cell of every row, headings first."""
        return [[" ".join(cell.split()) for cell in row] for row in self.tables[table]]

    def cells(self, table: str, model: str) -> list[str]:
        """The cells of a model's row, without the model."""
        row = next(row for row in self.rows(table) if any(cell.startswith(model) for cell in row))
        return [cell for cell in row if not cell.startswith(model)]

    @property
    def words(self) -> str:
        """All text with single spaces."""
        return " ".join(self.text.split())

    @property
    def ids(self) -> list[str]:
        return [value for _, attributes in self.tags if (value := attributes.get("id"))]


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


def build(store: LocalStore, out: Path, suite: Suite = SUITE) -> tuple[dict[Path, Page], list[str]]:
    problems: list[str] = []
    written = build_site(store, suite, out, on_problem=problems.append)
    return {path: Page(path) for path in written if path.suffix == ".html"}, problems


def fill(store: LocalStore, *names: str) -> None:
    for index, name in enumerate(names, 1):
        of = submission(
            name,
            description=name,
            authors=(name,),
            license=name,
            version=name[:64],
            affiliation=name,
            hardware=name,
            elements=(name, "Cu"),
            training=(TrainingSet(name=name, level_of_theory=name, url=f"https://{name}"),),
            label_sets={"Molecules": StatedLabelSet(name=name[:64])},
        )
        save(store, [of], good_results(of, index / (len(names) + 1)))


def test_hostile_names_are_text(store: LocalStore, tmp_path: Path) -> None:
    fill(store, *HOSTILE)
    pages, problems = build(store, tmp_path / "site")
    assert problems == []
    assert len([path for path in pages if path.parent.name == "submissions"]) == len(HOSTILE)
    for path, page in pages.items():
        assert not {"img", "iframe", "style", "object", "embed", "form", "base"} & {tag for tag, _ in page.tags}, path
        run = [a for tag, a in page.tags if tag == "script" and a.get("type") != "application/json"]
        assert [a["src"] for a in run] == [s for s in _sources(page) if s.endswith(".js")]
        for tag, attributes in page.tags:
            assert not any(name.startswith("on") or name == "style" for name in attributes), (path, tag, attributes)
        assert not re.search("[\u0000-\u0008\u001b\u202a-\u202e\u2066-\u2069]", page.text), path
    index = pages[tmp_path / "site" / "index.html"]
    for name in HOSTILE:
        assert plain(name) in index.text


STATED = {
    "affiliation": "A department",
    "license": "https://example.org/licence",
    "open_weights": False,
    "n_parameters": 412525,
    "conservative": True,
    "dispersion": False,
    "precision": "mixed",
    "elements": ("H", "Si", "U"),
    "training": (TrainingSet(name="MPtrj", level_of_theory="PBE+U", url="https://example.org/mptrj"),),
    "hardware": "One GPU with 80 GB",
    "label_sets": {
        "Molecules": StatedLabelSet(name="PBE", dispersion=False),
        "Catalysis": StatedLabelSet(name="RPBE"),
    },
}


def test_what_is_stated_stands_beside_what_was_measured(store: LocalStore, tmp_path: Path) -> None:
    full, bare = submission("full", **STATED), submission("bare")
    measured = {
        "n_parameters": 412525,
        "answered_elements": ("H", "C", "O", "Na", "Cl", "Cu", "Pt"),
        "unanswered_elements": ("Si",),
    }
    full = full.model_copy(update={"preflight": full.preflight.model_copy(update=measured)})
    save(store, [full, bare], good_results(full, 0.2) + good_results(bare, 0.3))
    pages, problems = build(store, tmp_path / "site")
    assert problems == []
    page = next(page for path, page in pages.items() if path.stem == full.id)
    assert page.rows("measured-title")[1:] == [
        ["Parameters", "412 525", "412 525, counted in the model"],
        [
            "Forces",
            "the gradient of the energy",
            "differ from the gradient of the energy △ differs from the statement",
        ],
        ["Elements", "H Si U", "answered H C O Na Cl Cu Pt; no answer with Si △ differs from the statement"],
        ["Precision", "mixed", "not measured"],
        ["Dispersion", "not in the energies", "not measured"],
        ["Charge", "not stated", "not measured"],
        ["Spin", "not stated", "not measured"],
        ["Level of theory, Inorganic Materials", "not stated", "not judged against labels"],
        ["Level of theory, Molecules", "PBE, without dispersion", "not judged against labels"],
        ["Level of theory, Catalysis", "RPBE", "not judged against labels"],
        ["Hardware", "One GPU with 80 GB", "timed on x86_64, 2 cores"],
    ]
    assert page.rows("training-title")[1:] == [["MPtrj", "PBE+U", "https://example.org/mptrj"]]
    for field, words in (
        ("Affiliation", "A department"),
        ("Weights", "not open"),
    ):
        assert field + words in page.words
    assert "https://example.org/licence" in {a.get("href") for _, a in page.tags}
    page = next(page for path, page in pages.items() if path.stem == bare.id)
    assert page.rows("measured-title")[1:4] == [
        ["Parameters", "not stated", "not measured"],
        ["Forces", "not stated", "differ from the gradient of the energy"],
        ["Elements", "not stated", "not measured"],
    ]
    assert "training-title" not in page.tables
    assert "The author does not state the training data." in page.words


def _sources(page: Page) -> list[str]:
    return [a[name] or "" for _, a in page.tags for name in a if name in LOADING]


def test_policy_is_strict_and_nothing_foreign_is_loaded(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha", "beta")
    pages, _ = build(store, tmp_path / "site")
    for page in pages.values():
        policies = [a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
        assert len(policies) == 1
        assert "default-src 'none'" in str(policies[0])
        assert "unsafe" not in str(policies[0])
        loaded = _sources(page) + [a["href"] or "" for tag, a in page.tags if tag == "link"]
        assert loaded
        assert not any(urlsplit(address).scheme or urlsplit(address).netloc for address in loaded)
        # The policy must come before anything that it should govern.
        names = [tag for tag, a in page.tags if tag in ("link", "script") or a.get("http-equiv")]
        assert names[0] == "meta"
    style = next((tmp_path / "site" / "assets").glob("style-*.css")).read_text(encoding="utf-8")
    assert "url(" not in style
    assert "@import" not in style


def test_links_resolve(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha", "beta")
    pages, _ = build(store, tmp_path / "site")
    for path, page in pages.items():
        assert len(page.ids) == len(set(page.ids))
        for tag, attributes in page.tags:
            address = urlsplit(attributes.get("href") or attributes.get("src") or "")
            if address.scheme or not (address.path or address.fragment):
                continue
            target = (path.parent / address.path).resolve() if address.path else path
            assert target.is_file(), (path, tag, attributes)
            if address.fragment:
                assert address.fragment in pages[target].ids, (path, attributes)


def test_links_of_authors_are_web_addresses() -> None:
    assert is_web_address("https://example.org/paper?x=1")
    for bad in ("javascript:alert(1)", "https://", "data:text/html,x", "https://a b", "//example.org", "http://[", ""):
        assert not is_web_address(bad)


def test_verdicts_sentences_and_missing_tasks_are_shown(store: LocalStore, tmp_path: Path) -> None:
    of = submission("alpha")
    failed = result(of, SUITE.tasks[1], {}, Verdict.TIME_LIMIT, sentence="Answer within ten minutes.")
    save(store, [of], [good_results(of, 0.1)[0], failed])
    pages, _ = build(store, tmp_path / "site")
    index, page = pages[tmp_path / "site" / "index.html"], pages[tmp_path / "site" / "submissions" / f"{of.id}.html"]
    assert "time limit" in index.text
    assert "not judged" in index.text
    assert "Not ranked" in index.text
    assert "hidden" not in next(a for _, a in index.tags if a.get("data-above") == "unranked")
    assert "Answer within ten minutes." in page.text


def test_runs_without_a_container_are_marked(store: LocalStore, tmp_path: Path) -> None:
    of = submission("alpha", driver="process")
    save(store, [of], good_results(of, 0.1, driver="process"))
    pages, _ = build(store, tmp_path / "site")
    for name in ("index.html", f"submissions/{of.id}.html"):
        assert "not isolated" in pages[tmp_path / "site" / name].text


def test_a_score_that_the_suite_does_not_feed_has_no_column(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha")
    suite = Suite(name="one", version="1", title="One task", tasks=SUITE.tasks[2:3])
    pages, _ = build(store, tmp_path / "site", suite)
    index = pages[tmp_path / "site" / "index.html"]
    assert index.rows("ranking-title")[0] == ["Rank", "Model", "Property error ↓, lower is better", "Tasks judged OK"]


TWO = Suite(
    name="two",
    version="1",
    title="Two sets",
    tasks=tuple(task(name, "energy_differences", "Molecules") for name in ("one", "two")),
)


def fill_two(store: LocalStore, **errors: tuple[Metric | None, Metric | None]) -> None:
    """Models by name with their errors in two test sets of one domain; None: they ran out of time."""
    for name, pair in errors.items():
        of = submission(name)
        found = [
            result(of, each, {"mae": metric})
            if metric is not None
            else result(of, each, {}, Verdict.TIME_LIMIT, sentence="Answer within ten minutes.")
            for each, metric in zip(TWO.tasks, pair, strict=True)
        ]
        save(store, [of], found)


def crossing(store: LocalStore, tmp_path: Path) -> Page:
    """The index of three models: alpha is better in one set, beta in the other, gamma is worse in both.

    Two sets drawn anew are twice the first, twice the second, or one of each, with chances of 1/4, 1/4 and 1/2.
    """
    fill_two(store, alpha=(error(0.2), error(0.6)), beta=(error(0.6), error(0.3)), gamma=(error(0.9), error(0.9)))
    pages, problems = build(store, tmp_path / "site", TWO)
    assert problems == []
    return pages[tmp_path / "site" / "index.html"]


def test_scores_and_ranks_have_intervals(store: LocalStore, tmp_path: Path) -> None:
    index = crossing(store, tmp_path)
    # Nothing but the choice of sets could be resampled: each of the two metrics is held.
    held = "*, a lower bound of the width"
    rows = {name: index.cells("ranking-title", name) for name in ("alpha", "beta", "gamma")}
    assert rows["alpha"][:2] == ["1, 95 % interval 1–2", f"0.400 95 % interval 0.200 – 0.600 {held}"]
    assert rows["beta"][:2] == ["2, 95 % interval 1–2", f"0.450 95 % interval 0.300 – 0.600 {held}"]
    assert rows["gamma"][:2] == ["3", f"0.900 95 % interval 0.900 – 0.900 {held}"]
    assert {a["title"] for _, a in index.tags if a.get("class") == "range" and "title" in a} == {
        "Lower bound of the width: 2 parts could not be resampled"
    }


def test_models_that_cannot_be_told_apart_are_joined_and_said(store: LocalStore, tmp_path: Path) -> None:
    """alpha − beta is −0.4 or 0.3, as the sets are drawn; gamma is always worse than both."""
    index = crossing(store, tmp_path)
    assert index.classes["ranking-title"][1:4] == ["tied odd", "tied odd", ""]
    assert index.text.count("tied with no. 1") == 1
    assert "tied with no. 1" in index.rows("ranking-title")[2][1]
    page = Page(tmp_path / "site" / "submissions" / f"{submission('beta').id}.html")
    assert "Rank 2 of 3, 1–2 on resampled test sets, tied with no. 1" in page.words


def test_how_firm_the_ranking_is(store: LocalStore, tmp_path: Path) -> None:
    """Without one, 0.6 against 0.3; without the other, 0.2 against 0.6. alpha leads while one weighs more than 3/7."""
    index = crossing(store, tmp_path)
    firm = "Robustness of the ranking by property error"
    assert index.cells(firm, "alpha") == ["1", "1–2", "1–2", "1–2 2 without one"]
    assert index.cells(firm, "beta") == ["2", "1–2", "1–2", "1–2 1 without one"]
    assert index.cells(firm, "gamma") == ["3", "3", "3", "3"]


def test_a_single_model_has_nothing_to_be_firm_against(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha")
    pages, _ = build(store, tmp_path / "site")
    index = pages[tmp_path / "site" / "index.html"]
    assert "Only one model is ranked." in index.text
    assert not any(label.startswith("How firm") for label in index.tables)


def charged(uncharged: float, value: float) -> Metric:
    """One item of ten failed: the error over the others, and with it."""
    return replace(error(value, "eV", n_failed=1), value=uncharged)


def test_the_difference_to_what_lambench_publishes(store: LocalStore, tmp_path: Path) -> None:
    """alpha: failures not charged; beta: the set without an answer left out, in place of counting 1."""
    fill_two(store, alpha=(charged(0.1, 0.4), error(0.2, "eV")), beta=(error(0.4, "eV"), None), gamma=(None, None))
    pages, _ = build(store, tmp_path / "site", TWO)
    index = pages[tmp_path / "site" / "index.html"]
    assert index.cells("ranking-title", "alpha")[1].startswith("0.300")
    assert index.cells("ranking-title", "beta")[1].startswith("0.700 1 of 2 tasks")
    published = pages[tmp_path / "site" / "schemes.html"]
    assert published.cells("as-published-title", "alpha") == ["0.150 −0.150"]
    assert published.cells("as-published-title", "beta") == ["0.400 −0.300"]
    assert published.cells("as-published-title", "gamma") == ["–"]
    for said in (
        "LAMBench 0.3.1, as published",
        "Failed items are not charged",
        "A property without an answer is left",
    ):
        assert said in published.text


def test_a_model_to_which_lambench_gives_no_score(store: LocalStore, tmp_path: Path) -> None:
    """Without stress: half of the domain of molecules, 0.5, and of 0.9 · 0.5 + 0.1 where there are virials."""
    fill(store, "alpha")
    without = submission("beta")
    found = good_results(without, 0.5)
    found[0] = result(without, SUITE.tasks[0], frames_metrics(0.5))
    save(store, [without], found)
    pages, _ = build(store, tmp_path / "site")
    assert pages[tmp_path / "site" / "schemes.html"].cells("as-published-title", "beta") == [
        "– corrected: 0.525",
        "0.500 same",
        "1.5 same",  # made of times: two digits
        "0.000 same",
    ]


def test_other_schemes(store: LocalStore, tmp_path: Path) -> None:
    """ML-PEG: 1 − error / trivial model's, mean over the sets. As published, it leaves out what is missing."""
    fill_two(store, alpha=(error(0.2), error(0.6)), beta=(error(0.4), None))
    pages, _ = build(store, tmp_path / "site", TWO)
    others = pages[tmp_path / "site" / "schemes.html"]
    assert others.rows("other-schemes-title")[0] == ["Model", "ML-PEG ↑, higher is better"]
    # Two sets drawn anew: twice the one, each once, or twice the other. Their items are one cluster each, and held.
    (alpha,), (beta,) = (others.cells("other-schemes-title", name) for name in ("alpha", "beta"))
    assert alpha == "0.60095 % interval 0.400 – 0.800 *, a lower bound of the width"
    assert beta.startswith("0.300 up to 0.80095 % interval 0.000 – 0.600 *")
    assert beta.endswith("as published: 0.600")
    assert "“bad” is the error of the trivial model" in others.text
    assert "MLIPAudit" not in others.text


def test_mlipaudit_scores_items(store: LocalStore, tmp_path: Path) -> None:
    """Of errors of 0.5 and 2 kcal/mol against a threshold of 1, and one that failed: 1, exp(−3) and 0."""
    audited = replace(TWO.tasks[0], mlipaudit="noncovalent_interactions")
    of = submission("alpha")
    found = result(of, audited, {"mae": error(0.1, "eV", n_failed=1)}, notes={"items in": "kcal/mol"})
    save(store, [of], [found])
    names, causes = ["a", "b", "c"], np.array([Cause.NONE, Cause.NONE, Cause.ERROR], np.int8)
    items = Items(names, names, names, causes, {"error": np.array([0.5, -2.0, np.nan])})
    store.put(items_path(of.id, audited.name, found.result_key), pack_items(items))
    pages, _ = build(store, tmp_path / "site", replace(TWO, tasks=(audited,)))
    others = pages[tmp_path / "site" / "schemes.html"]
    assert others.rows("other-schemes-title")[0] == [
        "Model",
        *(f"{name} ↑, higher is better" for name in ("ML-PEG", "MLIPAudit", "MLIPAudit, compatible benchmarks")),
    ]
    mean = f"{(1 + math.exp(-3)) / 3:.3f}"
    ml_peg, overall, compatible = others.cells("other-schemes-title", "alpha")
    assert (ml_peg, compatible) == ("0.900", mean)
    assert overall.startswith(f"{mean}95 % interval 0.000 – 1.000")  # of three items drawn anew, each its own cluster


def test_why_a_score_is_what_it_is(store: LocalStore, tmp_path: Path) -> None:
    fill_two(store, alpha=(charged(0.1, 0.4), error(0.2, "eV")), beta=(error(0.4, "eV"), None))
    pages, _ = build(store, tmp_path / "site", TWO)
    page = pages[tmp_path / "site" / "submissions" / f"{submission('alpha').id}.html"]
    why = page.words.partition("Why these scores")[2]
    assert why.index("Property error 0.3000") < why.index("Molecules 0.3000") < why.index("one 0.4000")
    assert why.count("Each: mean over metric columns.") == 1  # of both tasks, and not again of each
    assert "share 50 % as published 0.1000 Mean absolute error 0.4000" in why
    assert (
        "Error / baseline, at most 1. 400 meV; baseline 1 000 meV; 1 of 10 items failed, 100 meV without them." in why
    )
    assert "Source: LAMBench, arXiv:2504.19578" in why
    beta = pages[tmp_path / "site" / "submissions" / f"{submission('beta').id}.html"]
    why = beta.words.partition("Why these scores")[2]
    assert "two counts 1.0000 share 50 % as published left out" in why


def test_evidence_in_words() -> None:
    raw = RawMetric("crystals", "energy_rmse_per_atom", 0.0407, "eV/atom", (("baseline", 0.01),), 55, 11, 0.0263)
    assert evidence_words(raw) == (
        "Energy RMSE 40.7 meV/atom; baseline 10.0 meV/atom; 11 of 55 items failed, 26.3 meV/atom without them"
    )
    between = Interval(0.0351, 0.0482)
    assert evidence_words(raw, "energy_rmse_per_atom", between).startswith("40.7 meV/atom (35.1\u00a0–\u00a048.2); ")
    item = (("threshold", 1.0), ("threshold unit", "kcal/mol"), ("direction", "smaller is better"))
    assert evidence_words(RawMetric("s22", "mae", 0.35, "score", item, 3), "mae") == (
        "0.350; threshold 1.00 kcal/mol; direction smaller is better; over 3 items"
    )
    assert evidence_words(RawMetric("run", "slope", math.inf, "eV/atom/ps"), "slope") == "not finite"
    assert evidence_words(RawMetric("run", "slope", None, "eV/atom/ps")) == ""


@pytest.mark.parametrize(
    ("value", "text"), [(0.02, "+0.020"), (-0.02, "−0.020"), (0.0, "same"), (-0.0004, "same"), (math.inf, "+∞")]
)
def test_differences(value: float, text: str) -> None:
    assert signed(value) == text


def test_ranks_and_shares() -> None:
    assert (rank_span(1.0, 1.0), rank_span(1.0, 12.0)) == ("1", "1–12")
    assert (percent(0.45), percent(1 / 22), percent(1.0)) == ("45\u00a0%", "4.5\u00a0%", "100\u00a0%")


def test_what_a_release_does_otherwise() -> None:
    """Facts of the release, in words: another has another cap, another way with what is missing."""
    words = {name: published_words(load_release(name)) for name in ("lambench-0.3.1", "lambench-2025-five")}
    assert "An error beyond the trivial model’s counts as it is" not in words["lambench-0.3.1"]
    assert "An error beyond the trivial model’s counts as it is" in words["lambench-2025-five"]
    assert "5.0\u00a0×\u00a010⁻⁴ eV/atom per 10.18 ps" in words["lambench-0.3.1"]


def test_an_empty_store_has_a_page(store: LocalStore, tmp_path: Path) -> None:
    pages, problems = build(store, tmp_path / "site")
    assert "There is no submission yet" in pages[tmp_path / "site" / "index.html"].text
    assert problems == []


def test_a_broken_record_is_named_and_left_out(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha", "beta", "gamma")
    alpha, beta, gamma = submission("alpha"), submission("beta"), submission("gamma")
    store.put(f"submissions/{alpha.id}/submission.json", b"{}")
    broken = good_results(beta, 0.5)[0]
    place = result_path(beta.id, broken.task, broken.result_key)
    store.put(place, b'{"schema_version": 1')
    drift = good_results(gamma, 0.5)[3]
    store.put(items_path(gamma.id, drift.task, drift.result_key), b"garbage")
    pages, problems = build(store, tmp_path / "site")
    assert [path.stem for path in pages if path.parent.name == "submissions"] == [gamma.id]
    assert len(problems) == 3
    for at_fault in (f"submissions/{alpha.id}/submission.json", place, f"results/{gamma.id}/drift"):
        assert sum(at_fault in problem and "\n" not in problem for problem in problems) == 1


def test_the_same_records_give_the_same_bytes(store: LocalStore, tmp_path: Path) -> None:
    fill(store, "alpha", "beta")
    build(store, tmp_path / "one")
    build(store, tmp_path / "two")
    one, two = ({p.relative_to(r): p.read_bytes() for p in r.rglob("*") if p.is_file()} for r in _roots(tmp_path))
    assert one == two


def _roots(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "one", tmp_path / "two"


def test_pages_no_longer_made_are_removed_and_nothing_else(store: LocalStore, tmp_path: Path) -> None:
    site = tmp_path / "site"
    fill(store, "alpha", "beta")
    build(store, site)
    (site / "submissions" / "of-somebody-else.html").write_text("mine")
    store.delete(f"submissions/{submission('beta').id}/submission.json")
    build(store, site)
    left = sorted(path.name for path in (site / "submissions").iterdir())
    assert left == sorted([f"{submission('alpha').id}.html", "of-somebody-else.html"])
    assert not list(site.rglob(".*"))


def test_index_comes_last_and_an_old_asset_outlives_one_build(tmp_path: Path) -> None:
    written = publish({"index.html": b"1", "assets/style-1.css": b"1", "submissions/a.html": b"1"}, tmp_path)
    assert [path.name for path in written] == ["style-1.css", "a.html", "index.html"]
    publish({"index.html": b"2", "assets/style-2.css": b"2"}, tmp_path)
    assert (tmp_path / "assets" / "style-1.css").exists()
    assert not (tmp_path / "submissions" / "a.html").exists()
    publish({"index.html": b"3", "assets/style-2.css": b"2"}, tmp_path)
    assert not (tmp_path / "assets" / "style-1.css").exists()
    assert (tmp_path / "assets" / "style-2.css").exists()


def test_what_is_there_already_is_not_written_again(tmp_path: Path) -> None:
    """The same file stays; one that only points to such content does not, and what a killed build left goes."""
    publish({"index.html": b"1", "submissions/a.html": b"a", "submissions/b.html": b"b"}, tmp_path)
    pages = tmp_path / "submissions"
    (tmp_path / "elsewhere").write_bytes(b"b")
    (pages / "b.html").unlink()
    (pages / "b.html").symlink_to(tmp_path / "elsewhere")
    (pages / ".a.html.0123abcd").write_bytes(b"half")
    (pages / ".of-somebody-else").write_bytes(b"mine")
    before = {name: (tmp_path / name).stat().st_ino for name in ("index.html", "submissions/a.html")}
    written = publish({"index.html": b"2", "submissions/a.html": b"a", "submissions/b.html": b"b"}, tmp_path)
    assert len(written) == 3
    assert (pages / "a.html").stat().st_ino == before["submissions/a.html"]
    assert (tmp_path / "index.html").stat().st_ino != before["index.html"]
    assert not (pages / "b.html").is_symlink()
    assert sorted(path.name for path in pages.iterdir()) == [".of-somebody-else", "a.html", "b.html"]
    (pages / "a.html").write_bytes(b"x")  # by a stranger's hand: the same length
    publish({"index.html": b"2", "submissions/a.html": b"a", "submissions/b.html": b"b"}, tmp_path)
    assert (pages / "a.html").read_bytes() == b"a"


def test_a_manifest_that_points_elsewhere_removes_nothing(tmp_path: Path) -> None:
    outside = tmp_path / "precious"
    outside.write_text("mine")
    site = tmp_path / "site"
    site.mkdir()
    (site / MANIFEST).write_text('{"files": {"../precious": "0"}}')
    publish({"index.html": b"1"}, site)
    assert outside.read_text() == "mine"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0.0, "0"),
        (0.0213, "0.0213"),
        (-1.5, "−1.50"),
        (4.9e-5, "4.90\u00a0×\u00a010⁻⁵"),
        (1234.5, "1\u202f230"),
        (999.96, "1\u202f000"),
        (float("inf"), "∞"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text

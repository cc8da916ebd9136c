"""A site built from a store, and its parsed pages."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from judge.publishing.site_files import build_site
from sandbox.verdict import Verdict
from submissions.records import StatedLabelSet, TrainingSet
from submissions.store.local import LocalStore
from tasks.metrics.metric import Metric
from tasks.suites.suite import Suite
from tests.world.board_records import SUITE, error, good_results, result, save, submission, task


class Page(HTMLParser):
    """A parsed page: tags with their attributes, ids, all text, and tables by their label."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.tables: dict[str, list[list[str]]] = {}
        self.classes: dict[str, list[str]] = {}  # of each row
        self._table = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag == "table":
            self._table = attributes.get("aria-labelledby") or attributes.get("aria-label") or ""
            self.tables[self._table], self.classes[self._table] = [], []
        elif tag == "tr" and self._table:
            self.tables[self._table].append([])
            self.classes[self._table].append(attributes.get("class") or "")
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


def build(store: LocalStore, out: Path, suite: Suite = SUITE) -> tuple[dict[Path, Page], list[str]]:
    problems: list[str] = []
    written = build_site(store, suite, out, on_problem=problems.append)
    return {path: Page(path) for path in written if path.suffix == ".html"}, problems


def fill(store: LocalStore, *names: str) -> None:
    for index, name in enumerate(names, 1):
        model = submission(
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
        save(store, [model], good_results(model, index / (len(names) + 1)))


TWO = Suite(
    name="two",
    version="1",
    title="Two sets",
    tasks=tuple(task(name, "energy_differences", "Molecules") for name in ("one", "two")),
)


def fill_two(store: LocalStore, **errors: tuple[Metric | None, Metric | None]) -> None:
    """Stores models with their errors in two test sets of one domain; None: the model exceeded the time limit."""
    for name, pair in errors.items():
        model = submission(name)
        results = [
            result(model, each, {"mae": metric})
            if metric is not None
            else result(model, each, {}, Verdict.TIME_LIMIT, sentence="Answer within ten minutes.")
            for each, metric in zip(TWO.tasks, pair, strict=True)
        ]
        save(store, [model], results)


def penalised(without: float, value: float) -> Metric:
    """A metric of ten items, of which one failed: the error without it, and penalised."""
    return replace(error(value, "eV", n_failed=1), value=without)

"""The table of a figure has every number with all digits, for any model name, and a script can read it back."""

from __future__ import annotations

import json
import math
from html.parser import HTMLParser
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from judge.figures.figure import Figure, Heading
from judge.view import formatting
from judge.view.page_context import Frame
from judge.view.table_cells import shown
from tests.judge.figures.hostile_board import HOSTILE, all_figures


class TableReader(HTMLParser):
    """The cells of a figure's table, read as js/figure_table.js reads them."""

    def __init__(self, table: str) -> None:
        super().__init__()
        self.lines: list[list[dict[str, Any]]] = []
        self.feed(table)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.lines.append([])
        elif tag in ("th", "td"):
            self.lines[-1].append({"tag": tag, "text": "", **dict(attrs)})

    def handle_data(self, data: str) -> None:
        self.lines[-1][-1]["text"] += data

    @property
    def rows(self) -> list[list[Any]]:
        rows: list[list[Any]] = []
        for cells in self.lines[1:]:
            above = rows[-1][: len(self.lines[0]) - len(cells)] if rows else []
            rows.append([*above, *map(value_of, cells)])
        return rows

    def assert_filled(self) -> None:
        """Each row, with the cells that span it from above, is as wide as the head."""
        until = [0] * len(self.lines[0])
        for line, cells in enumerate(self.lines):
            free = [column for column, end in enumerate(until) if end <= line]
            assert len(free) == len(cells)
            for column, cell in zip(free, cells, strict=True):
                until[column] = line + int(cell.get("rowspan", "1"))
        assert set(until) == {len(self.lines)}


def value_of(cell: dict[str, Any]) -> Any:
    if "data-is" in cell:
        return json.loads(cell["data-is"])
    if cell["tag"] == "th" or cell.get("class") == "word":
        return cell["text"]
    return None if cell["text"] == "–" else float(cell["text"].replace("−", "-").replace("\u202f", ""))


def figure_of(headings: tuple[Heading, ...], rows: list[tuple[Any, ...]], digits: int = 3) -> Figure:
    return Figure("k", "t", "a", headings, rows, (), {}, digits=digits)


def test_a_table_has_all_digits_of_its_numbers(hostile: Frame) -> None:
    for figure in all_figures(hostile):
        table = TableReader(figure.table)
        assert table.rows == [
            [formatting.plain(cell) if isinstance(cell, str) else cell for cell in row] for row in figure.rows
        ]
        assert [cell.get("data-unit", "") for cell in table.lines[0]] == [heading.unit for heading in figure.headings]
        table.assert_filled()


names = st.sampled_from(["a", "b", "", "−5", "7", HOSTILE[0]])
numbers = st.none() | st.integers(-(10**6), 10**9) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(names, names, names | numbers, numbers, numbers), max_size=8), st.integers(1, 6))
def test_any_table_is_read_back(rows: list[tuple[Any, ...]], digits: int) -> None:
    """A text that looks like a number stays a text, and a name that spans rows is the name of each row."""
    headings = tuple(Heading(name, unit) for name, unit in zip("vwxyz", ("", "", "", "eV", "K"), strict=True))
    table = TableReader(figure_of(headings, rows, digits).table)
    assert table.rows == [list(row) for row in rows]
    table.assert_filled()


def test_a_name_over_several_rows_stands_once() -> None:
    rows = [("a", "one", 1.0), ("a", "one", 2.0), ("a", "two", 3.0), ("b", "two", 4.0)]
    table = TableReader(figure_of(tuple(map(Heading, "xyz")), rows).table)
    assert [[cell["text"] for cell in line] for line in table.lines[1:]] == [
        ["a", "one", "1.00"],
        ["2.00"],
        ["two", "3.00"],
        ["b", "two", "4.00"],
    ]
    assert [cell.get("rowspan") for line in table.lines[1:] for cell in line[:-1]] == ["3", "2", None, None, None]


def test_a_number_that_is_not_finite_is_a_word_in_the_table() -> None:
    rows = [("a", math.inf), ("b", -math.inf), ("c", math.nan)]
    figure = figure_of((Heading("m"), Heading("v")), rows)
    assert TableReader(figure.table).rows == [["a", "Infinity"], ["b", "-Infinity"], ["c", None]]


@given(st.floats(-1e7, 1e7) | st.floats(-1.0, 1.0), st.integers(1, 6))
def test_cells_show_numbers_as_every_page_does(value: float, digits: int) -> None:
    assert shown(value, digits) == formatting.number(value, digits)

"""Figures, each with the bound that it is held against."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One measured number. `bound` is what it must not exceed, or must reach where `at_least`."""

    name: str
    value: float
    unit: str
    bound: float | None = None
    at_least: bool = False

    @property
    def holds(self) -> bool | None:
        if self.bound is None:
            return None
        return self.value >= self.bound if self.at_least else self.value <= self.bound


def report(figures: Sequence[Figure], path: Path) -> bool:
    """Shows a table, writes `path`, and says whether every bound holds."""
    table = Table(title="Benchmarks, medians", title_justify="left")
    for column in ("figure", "measured", "bound", ""):
        table.add_column(column, justify="right" if column in ("measured", "bound") else "left")
    for figure in figures:
        sign = "≥" if figure.at_least else "≤"
        bound = "" if figure.bound is None else f"{sign} {figure.bound:g}"
        mark = {True: "[green]holds[/]", False: "[red]missed[/]", None: ""}[figure.holds]
        table.add_row(figure.name, f"{figure.value:,.4g} {figure.unit}", bound, mark)
    Console().print(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{**asdict(figure), "holds": figure.holds} for figure in figures]
    path.write_text(json.dumps(rows, indent=1) + "\n")
    return all(figure.holds is not False for figure in figures)

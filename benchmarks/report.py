"""Measured figures, each with its bound."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One measured number. It must not exceed `bound`, or must reach it if `at_least` is set."""

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


def report(benchmark: str, figures: Iterable[Figure], path: Path) -> bool:
    """Whether every bound holds. Each figure is printed once it is measured, and all are written to `path`.

    The figures of other benchmarks in `path` are kept.
    """
    measured = []
    for figure in figures:
        measured.append(figure)
        print(line(figure), flush=True)
    rows = [row for row in json.loads(path.read_text()) if row["benchmark"] != benchmark] if path.exists() else []
    rows += [{"benchmark": benchmark, **asdict(figure), "holds": figure.holds} for figure in measured]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1) + "\n")
    return all(figure.holds is not False for figure in measured)


def line(figure: Figure) -> str:
    """A row of the printed table."""
    value, sign = f"{figure.value:,.4g} {figure.unit}", "≥" if figure.at_least else "≤"
    if figure.bound is None:
        return f"  {figure.name:<70} {value:>16}"
    return f"  {figure.name:<70} {value:>16}  {sign} {figure.bound:<8g} {'holds' if figure.holds else 'missed'}"

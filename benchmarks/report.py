"""Measured figures, each with its bound."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One measured number. It must not exceed `bound`, or must reach it if `at_least` is set.

    Args:
        at_most: with `at_least`, what it should not exceed. A larger value is listed, and is no miss.
        error: its standard error, in the same unit; None if it is not known. Three of these are no miss.
        goal: True if the bound is not reached yet. A value outside is listed, and is no miss.
    """

    name: str
    value: float
    unit: str
    bound: float | None = None
    at_least: bool = False
    at_most: float | None = None
    error: float | None = None
    goal: bool = False

    @property
    def beyond(self) -> float:
        """How far the value is beyond its bounds; negative if it is within, or has none."""
        sign = 1 if self.at_least else -1
        below = -math.inf if self.bound is None else sign * (self.bound - self.value)
        return max(below, -math.inf if self.at_most is None else self.value - self.at_most)

    @property
    def holds(self) -> bool | None:
        """False for a miss; None without a bound."""
        if self.bound is None:
            return None
        too_high = self.at_most is not None and self.value > self.at_most
        return self.goal or too_high or self.beyond <= 3 * (self.error or 0.0)


def report(benchmark: str, figures: Iterable[Figure], path: Path) -> bool:
    """Whether every bound holds. Each figure is printed once it is measured, and all are written to `path`.

    Those beyond their bounds are printed again at the end, the farthest first. The figures of other benchmarks in
    `path` are kept.
    """
    measured = []
    for figure in figures:
        measured.append(figure)
        print(line(figure), flush=True)
    rows = [row for row in json.loads(path.read_text()) if row["benchmark"] != benchmark] if path.exists() else []
    rows += [{"benchmark": benchmark, **asdict(figure), "holds": figure.holds} for figure in measured]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1) + "\n")
    bounded = [figure for figure in measured if figure.bound is not None]
    beyond = sorted((figure for figure in bounded if figure.beyond > 0), key=lambda figure: -figure.beyond)
    if beyond:
        n_missed = sum(not figure.holds for figure in beyond)
        print(f"  {len(beyond)} of {len(bounded)} figures are beyond their bounds, {n_missed} of them missed:")
        print("\n".join(map(line, beyond)), flush=True)
    return all(figure.holds for figure in bounded)


def line(figure: Figure) -> str:
    """A row of the printed table."""
    error = "" if figure.error is None else f" ± {figure.error:.1g}"
    row = f"  {figure.name:<70} {f'{figure.value:,.4g}{error} {figure.unit}':>16}"
    if figure.bound is None:
        return row
    limits = f"{'≥' if figure.at_least else '≤'} {figure.bound:g}"
    if figure.at_most is not None:
        limits += f", ≤ {figure.at_most:g}"
    status = "missed" if not figure.holds else "beyond" if figure.beyond > 0 else "holds"
    return f"{row}  {limits:<10} {status}"

"""Curves that a kind measures of single items, for figures: g(r), the energy along a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tasks.metrics.measurement import Items
from tasks.structures.frames import Float


class ProfileCurve(NamedTuple):
    """The curve of one item.

    Args:
        item: its id.
        x: (k,) increasing.
        y: (k,) NaN where there is no value.
        reference: (k,) of the reference; None if there is none.
        also: further curves by name, (k,) each, for comparison.
    """

    item: str
    x: Float
    y: Float
    reference: Float | None = None
    also: tuple[tuple[str, Float], ...] = ()


@dataclass(frozen=True)
class Profile:
    """Curves of one sort.

    Args:
        key: letters, digits and hyphens.
        title: for readers.
        x, y: the axes with their units, such as `r / Å`.
        curves: of the stored items of a task with these parameters; items without a curve are left out.
    """

    key: str
    title: str
    x: str
    y: str
    curves: Callable[[Items, Any], Sequence[ProfileCurve]] = field(repr=False)

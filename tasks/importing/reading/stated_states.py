"""Charge and 2S+1 as a file states them: whole numbers of a possible size, whatever type its format gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tasks.datasets.card import DatasetError

MAX_CHARGE = 100
MAX_MULTIPLICITY = 100


def stated_charge(value: object, where: object) -> int:
    """The charge [e].

    Raises:
        DatasetError: it is no whole number from -100 to 100; the line begins with `where`.
    """
    return _whole(value, "charge", where, -MAX_CHARGE, MAX_CHARGE)


def stated_multiplicity(value: object, where: object, field: str = "multiplicity") -> int:
    """2S+1; 0: it is not stated.

    Args:
        field: that states it.

    Raises:
        DatasetError: it is no whole number from 0 to 100; the line begins with `where`.
    """
    return _whole(value, field, where, 0, MAX_MULTIPLICITY)


def stated_state(info: Mapping[str, Any], where: object) -> tuple[int, int]:
    """Charge [e] and 2S+1 (0: not stated) from `charge`, and `multiplicity` or `spin`, of a structure's `info`.

    Raises:
        DatasetError: one is no such number; the line begins with `where`.
    """
    field = "multiplicity" if "multiplicity" in info else "spin"
    return stated_charge(info.get("charge", 0), where), stated_multiplicity(info.get(field, 0), where, field)


def _whole(value: object, field: str, where: object, low: int, high: int) -> int:
    shown = repr(str(value)[:60])
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        if value == value and low <= value <= high and value == round(float(value)):
            return round(float(value))
        shown = str(value)[:60]
    raise DatasetError(
        f"{where}: {field}: must be a whole number from {low} to {high}, not {shown}: correct it, or leave it out "
        "where it is not known"
    )

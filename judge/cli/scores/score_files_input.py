"""Reads the files of `judge score ml-peg`, `mlipaudit` and `matbench`. Their layout is in docs/scoring-files.md."""

from __future__ import annotations

import math
import reprlib
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from judge.cli.json_input import read_json
from judge.config import UsageError


def _number(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ValueError(f"{reprlib.repr(given)} is not a number")
    try:
        return float(given)
    except OverflowError:
        raise ValueError(f"{reprlib.repr(given)} is too large") from None


def _item(given: object) -> float | tuple[float, ...] | None:
    """A number, None, or the frames of a trajectory with NaN for missing values."""
    if isinstance(given, list):
        return tuple(math.nan if frame is None else _number(frame) for frame in given)
    return None if given is None else _number(given)


Number = Annotated[float, PlainValidator(_number)]
Item = Annotated[float | tuple[float, ...] | None, PlainValidator(_item)]
Count = Annotated[int, Field(strict=True, ge=0)]
Name = Annotated[str, Field(min_length=1)]


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MetricOfModel(_Read):
    value: Number | None
    unit: str
    n_items: Count = 0
    n_failed: Count = 0
    uncharged: Number | None = None


class MlPegModel(_Read):
    metrics: dict[Name, dict[Name, MetricOfModel]]
    levels: dict[Name, str] | None = None


class MlPegFile(_Read):
    models: dict[Name, MlPegModel] = Field(min_length=1)


class ItemsOfModel(_Read):
    values: tuple[Item, ...]
    unit: str
    n_failed: Count = 0
    n_unsupported: Count = 0
    groups: tuple[str, ...] | None = None
    sets: tuple[str, ...] | None = None
    any_error: bool = False
    seen: tuple[Item, ...] | None = None


class MlipAuditModel(_Read):
    results: dict[Name, dict[Name, ItemsOfModel]]
    incompatible: tuple[Name, ...] = ()


class MlipAuditFile(_Read):
    models: dict[Name, MlipAuditModel] = Field(min_length=1)


class MatbenchModel(_Read):
    metrics: dict[Name, dict[Name, MetricOfModel]]
    excluded_elements: Count = 0
    predictions: str = ""


class MatbenchFile(_Read):
    models: dict[Name, MatbenchModel] = Field(min_length=1)


_File = TypeVar("_File", MlPegFile, MlipAuditFile, MatbenchFile)


def read_table(kind: type[_File], path: Path) -> _File:
    """The table in a file.

    Raises:
        UsageError: it is wrong; one line that names file, model, benchmark, metric and field.
    """
    try:
        return kind.model_validate(read_json(path))
    except ValidationError as error:
        first = error.errors()[0]
        fault = {
            "missing": "missing: state it",
            "extra_forbidden": "unknown: docs/scoring-files.md has the fields",
        }.get(first["type"], first["msg"].removeprefix("Value error, "))
        raise UsageError(f"{path}: {_where(first['loc'])}{fault}") from None


def _where(loc: tuple[str | int, ...]) -> str:
    """Where a field is, such as `model A: benchmark X23: metric MAE: value: `."""
    within = len(loc) > 3 and loc[2] in ("metrics", "results")
    kinds = {1: "model "} | ({3: "benchmark ", 4: "metric "} if within else {})
    words = []
    for place, step in enumerate(loc):
        is_implied = (place == 0 and len(loc) > 1) or (place == 2 and within)
        if not is_implied and step != "[key]":
            words.append(f"item {step}: " if isinstance(step, int) else f"{kinds.get(place, '')}{step}: ")
    return "".join(words)

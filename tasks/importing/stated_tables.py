"""Tables of items that a person writes as JSON: reading them, and checking references against the card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from tasks.datasets.card import Card, CardPart, DatasetError, dataset_faults
from tasks.structures.text_files import read_text

Reference = TypeVar("Reference")
Model = TypeVar("Model", bound=BaseModel)


class StatedItem(CardPart):
    """An item of a table."""

    group: str = ""
    cluster: str = ""


class StatedTable(BaseModel):
    """A file with items. Beside its fields it may state its source."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def read_stated(path: Path, model: type[Model]) -> Model:
    """The record that a JSON file states.

    Raises:
        DatasetError: one line that names file and field.
    """
    with dataset_faults(path):
        return model.model_validate_json(read_text(path))


def references_by_label_set(
    reference: Reference | None, references: Mapping[str, Reference] | None, card: Card, where: str
) -> Mapping[str, Reference]:
    """The references by label set: `reference` is that of the card's default label set.

    Raises:
        DatasetError: both or neither is stated, or the card has no default label set; the line begins with `where`.
    """
    if (reference is None) == (references is None):
        raise DatasetError(f"{where}: reference: state reference or references, one of both")
    if references is not None:
        return references
    if card.default_label_set is None or reference is None:
        raise DatasetError(f"{where}: reference: the card names no label set for it")
    return {card.default_label_set: reference}


def check_label_sets(references: Mapping[str, object], card: Card, where: str) -> None:
    """The references are those of the card's label sets.

    Raises:
        DatasetError: they are not; the line begins with `where`.
    """
    if references.keys() != card.label_sets.keys():
        known, stated = ", ".join(sorted(card.label_sets)), ", ".join(sorted(references)) or "none"
        raise DatasetError(f"{where}: references: has {stated}, but the card's label sets are {known}")


def check_names(names: Sequence[str], where: str) -> None:
    """Checks that each item of a table has its own name.

    Raises:
        DatasetError: the line begins with `where`, and names both.
    """
    first: dict[str, int] = {}
    for i, name in enumerate(names):
        if name in first:
            raise DatasetError(f"{where}.{i}: id: {name!r} is that of {first[name]}, too: give each its own")
        first[name] = i


def check_areas(areas: Sequence[float | None], where: str, names: Sequence[str] = ()) -> None:
    """All items of a table have an area, or none has: else they have no unit in common.

    Args:
        names: of the items, if they have no numbers.

    Raises:
        DatasetError: the line begins with `where`, and names the first without one.
    """
    if None in areas and any(area is not None for area in areas):
        i = list(areas).index(None)
        raise DatasetError(f"{where}.{names[i] if names else i}: area: is missing, which other items have")

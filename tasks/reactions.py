"""Datasets of energy differences from a reaction table: `structures.extxyz` and `reactions.json` in one folder."""

from __future__ import annotations

from pathlib import Path

from ase import units
from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from tasks.card import Card, DatasetError, Difference, Term, one_line
from tasks.dataset import Dataset
from tasks.importers import read_structures, with_periodicity

STRUCTURES, REACTIONS = "structures.extxyz", "reactions.json"
UNITS_EV = {"kcal/mol": units.kcal / units.mol, "kJ/mol": units.kJ / units.mol, "eV": 1.0, "hartree": units.Hartree}


class _Stated(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _StatedTerm(_Stated):
    structure: str
    coefficient: FiniteFloat


class _StatedReaction(_Stated):
    id: str
    terms: tuple[_StatedTerm, ...]
    group: str = ""
    reference_kcal_per_mol: FiniteFloat | None = None
    reference: FiniteFloat | None = None


class _StatedReactions(_Stated):
    reference_unit: str
    reactions: tuple[_StatedReaction, ...]


def import_reactions(folder: Path, card: Card) -> Dataset:
    """A dataset of energy differences from `structures.extxyz` and `reactions.json` in `folder`.

    The structures are named by `name` in their comment line. A reaction has `id`, `terms` (structure, coefficient) and
    `reference_kcal_per_mol`, or `reference` in the file's `reference_unit`; references are kept in eV.

    Raises:
        DatasetError: one line that names file, frame or reaction, and field.
    """
    found = read_structures(folder / STRUCTURES)
    path = folder / REACTIONS
    try:
        stated = _StatedReactions.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise DatasetError(f"{path}: {one_line(error)}") from None
    if stated.reference_unit not in UNITS_EV:
        raise DatasetError(f"{path}: reference_unit: is {stated.reference_unit!r}, not one of {', '.join(UNITS_EV)}")
    if card.default_label_set is None:
        raise DatasetError(f"{path}: default_label_set: the card names no label set for the references")
    index = {name: i for i, name in enumerate(found.id)}
    differences = [
        _difference(reaction, stated.reference_unit, index, card.default_label_set, f"{path}: reactions.{i}")
        for i, reaction in enumerate(stated.reactions)
    ]
    return Dataset(with_periodicity(card, found.frames), found.frames, found.table(differences), {})


def _difference(stated: _StatedReaction, unit: str, index: dict[str, int], label_set: str, where: str) -> Difference:
    per_mol, own = stated.reference_kcal_per_mol, stated.reference
    if (per_mol is None) == (own is None):
        raise DatasetError(f"{where} ({stated.id}): reference: state reference_kcal_per_mol or reference, one of both")
    reference = per_mol * UNITS_EV["kcal/mol"] if per_mol is not None else (own or 0.0) * UNITS_EV[unit]
    for term in stated.terms:
        if term.structure not in index:
            raise DatasetError(f"{where} ({stated.id}): terms: there is no structure {term.structure!r}")
    try:
        terms = tuple(Term(structure=index[t.structure], coefficient=t.coefficient) for t in stated.terms)
        return Difference(id=stated.id, group=stated.group, terms=terms, reference={label_set: reference})
    except ValidationError as error:
        raise DatasetError(f"{where} ({stated.id}): {one_line(error)}") from None

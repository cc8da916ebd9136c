"""Datasets of energy differences from a table of reactions: `structures.extxyz` and `reactions.json` in one folder.

Structures are named by `name` in their comment line; molecules state `charge` and `multiplicity` there. The table:

    {"reference_unit": "mJ/m²",
     "reactions": [{"id": "Cu|Ni", "area_angstrom2": 12.8, "references": {"PBE": 310.0, "r2SCAN": 295.0},
                    "group": "fcc", "cluster": "Cu", "quantity": "", "unbalanced": false,
                    "terms": [{"structure": "Cu|Ni", "coefficient": 1}, {"structure": "Cu", "coefficient": -4},
                              {"structure": "Ni", "coefficient": -4}]}]}

`reference_unit` is one of `tasks.structures.units`: of energies (eV, meV, kcal/mol, kJ/mol, hartree) if reactions have
no area, else per area (eV/Å², meV/Å², J/m², mJ/m²). The reference is `reference`, of the card's default label set, or
`references`, by label set of the card; or `reference_kcal_per_mol`, with any unit. All are kept in eV or eV/Å².
The sum is divided by `area_angstrom2`: twice the cross-section if a cell has two surfaces. `quantity` distinguishes
barriers from reaction energies. Reactions of one `cluster` are correlated; without one each stands for itself. A sum in
which atoms appear or vanish is refused, unless it is `unbalanced` on purpose (a bare proton has no energy to add).
A term may name `alternatives`, other structures of the same atoms: the one that the model finds lowest takes part. A
reaction may state the `weight` of its error, for the metric `wtmad`, and the `uncertainty` of its reference, in the
reference's unit.

`tasks.kinds.energy_differences` shows how vacancies, interfaces, cleavage, conformers and the like are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, FiniteFloat

from tasks.datasets.card import Card, CardPart, DatasetError, Difference, Positive, Summand, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.importing.checks.set_faults import checked_set
from tasks.importing.importers import read_molecules
from tasks.importing.labelled_import import with_periodicity
from tasks.importing.stated_tables import (
    StatedItem,
    StatedTable,
    check_areas,
    check_label_sets,
    check_names,
    read_stated,
    references_by_label_set,
)
from tasks.structures.units import Unit, unit_size

STRUCTURES, REACTIONS = "structures.extxyz", "reactions.json"


class StatedTerm(CardPart):
    """A structure in a sum."""

    structure: str
    coefficient: FiniteFloat
    alternatives: tuple[str, ...] = ()


class StatedReaction(StatedItem):
    """A sum of energies with its reference."""

    id: Annotated[str, Field(min_length=1)]
    terms: tuple[StatedTerm, ...]
    quantity: str = ""
    area_angstrom2: Positive | None = None
    weight: Positive | None = None
    reference_kcal_per_mol: FiniteFloat | None = None
    reference: FiniteFloat | None = None
    references: dict[str, FiniteFloat] | None = None
    uncertainty: Positive | None = None
    unbalanced: bool = False


class StatedReactions(StatedTable):
    """`reactions.json`."""

    reference_unit: Unit
    reactions: Annotated[tuple[StatedReaction, ...], Field(min_length=1)]


def import_reactions(folder: Path, card: Card, multiplicity: int | None = None) -> Dataset:
    """A dataset of energy differences from `structures.extxyz` and `reactions.json` in `folder`.

    Args:
        multiplicity: 2S+1 of every molecule that states none.

    Raises:
        DatasetError: one line that names file, frame or reaction, and field.
    """
    structures = read_molecules(folder / STRUCTURES, multiplicity, named=True)
    path = folder / REACTIONS
    stated = read_stated(path, StatedReactions)
    check_names([reaction.id for reaction in stated.reactions], f"{path}: reactions")
    check_areas([reaction.area_angstrom2 for reaction in stated.reactions], f"{path}: reactions")
    index = {name: i for i, name in enumerate(structures.id)}
    differences = []
    for i, reaction in enumerate(stated.reactions):
        where = f"{path}: reactions.{i} ({reaction.id})"
        reference = _reference(reaction, stated.reference_unit, card, where)
        check_label_sets(reference, card, where)
        difference = _difference(reaction, index, reference, where)
        if reaction.uncertainty is not None:
            size = _unit_size(reaction, stated.reference_unit, where)
            uncertainty = dict.fromkeys(reference, reaction.uncertainty * size)
            difference = difference.model_copy(update={"uncertainty": uncertainty})
        differences.append(difference)
    table = structures.table(differences)
    return checked_set(Dataset(with_periodicity(card, structures.frames), structures.frames, table, {}), path)


def _reference(stated: StatedReaction, unit: str, card: Card, where: str) -> dict[str, float]:
    """The reference by label set, in eV or eV/Å²."""
    in_kcal = stated.reference_kcal_per_mol
    if sum(value is not None for value in (in_kcal, stated.reference, stated.references)) != 1:
        raise DatasetError(f"{where}: reference: state one of reference, references, reference_kcal_per_mol")
    if in_kcal is not None and stated.area_angstrom2 is not None:
        raise DatasetError(f"{where}: reference_kcal_per_mol: the reaction has an area: state reference")
    reference = stated.reference if in_kcal is None else in_kcal
    by_label_set = references_by_label_set(reference, stated.references, card, where)
    size = _unit_size(stated, unit, where)
    return {name: value * size for name, value in by_label_set.items()}


def _unit_size(stated: StatedReaction, unit: str, where: str) -> float:
    """How many eV or eV/Å² one unit of the reaction's reference is."""
    try:
        return unit_size(
            unit if stated.reference_kcal_per_mol is None else "kcal/mol", stated.area_angstrom2 is not None
        )
    except ValueError as error:
        raise DatasetError(f"{where}: reference_{error}") from None


def _difference(
    stated: StatedReaction, index: Mapping[str, int], reference: dict[str, float], where: str
) -> Difference:
    for name in (name for term in stated.terms for name in (term.structure, *term.alternatives)):
        if name not in index:
            raise DatasetError(f"{where}: terms: there is no structure {name!r}")
    with dataset_faults(where):
        return Difference(
            id=stated.id,
            group=stated.group,
            cluster=stated.cluster or stated.id,
            quantity=stated.quantity,
            area=stated.area_angstrom2,
            unbalanced=stated.unbalanced,
            weight=stated.weight,
            terms=tuple(
                Summand(
                    structure=index[t.structure],
                    coefficient=t.coefficient,
                    alternatives=tuple(index[name] for name in t.alternatives),
                )
                for t in stated.terms
            ),
            reference=reference,
        )

"""References that no material has are named with item, field, value, bound and mistake; nature's are left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase.build import bulk, molecule

from tasks.datasets.card import Card, Crystal, Difference, LabelSet, Scan, Summand, Table
from tasks.datasets.dataset import Dataset
from tasks.importing.import_summary import summarise
from tasks.importing.references.reference_checks import atoms_of_sum, doubtful_references, impossible_references
from tasks.structures.frames import Frames

HARTREE = 27.211386
# Cu (cubic, 4 atoms, 11.76 Å³ each), its vacancy cell, H2, H.
STRUCTURES = [bulk("Cu", a=3.61, cubic=True), bulk("Cu", a=3.61, cubic=True)[1:], molecule("H2"), molecule("H")]
VACANCY = (Summand(structure=1, coefficient=1.0), Summand(structure=0, coefficient=-0.75))
SPLIT = (Summand(structure=2, coefficient=-1.0), Summand(structure=3, coefficient=2.0))


def dataset(pressure: float | None = None, **items: Any) -> Dataset:
    card = Card(
        name="mine", version="1", title="Mine", domain="Inorganic Materials", periodic=False,
        label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)}, default_label_set="PBE",
    )  # fmt: skip
    names = ("Cu", "Cu_v", "H2", "H")
    conditions = {} if pressure is None else {"pressure_gpa": np.full(4, pressure)}
    return Dataset(
        card, Frames.from_atoms(STRUCTURES), Table(id=names, group=names, cluster=names, **items), {}, conditions
    )


def difference(value: float, terms: tuple[Summand, ...] = SPLIT, area: float | None = None) -> Dataset:
    item = Difference(id="item", terms=terms, area=area, reference={"PBE": value})
    return dataset(differences=(item,))


def scan(energies: tuple[float, ...], area: float | None = None) -> Dataset:
    item = Scan(id="item", structures=(0, 1, 0), x=(0.0, 0.5, 1.0), area=area, reference={"PBE": energies})
    return dataset(scans=(item,))


def crystal(pressure: float | None = None, **reference: float) -> Dataset:
    return dataset(pressure, crystals=(Crystal(id="item", structure=0, reference={"PBE": reference}),))


@pytest.mark.parametrize(
    "possible",
    [
        difference(4.75),  # the bond of H2
        difference(-31.95),  # H2 torn into bare protons and electrons: 2 × 13.6 + 4.75
        difference(1.25, VACANCY),
        difference(0.6, area=13.0),  # 9.6 J/m²: the (100) face of diamond
        scan((0.0, 5.0, 0.1)),
        scan((0.0, 9.0, 0.0), area=5.0),
        crystal(k_vrh_gpa=443.0, g_vrh_gpa=535.0),  # diamond
        crystal(k_vrh_gpa=1.2, g_vrh_gpa=0.6),  # argon
        crystal(100.0, volume_per_atom=11.76 / 6, k_vrh_gpa=900.0),  # as much as caesium gives way
        crystal(max_frequency_k=6300.0, entropy_j_per_mol_k=130.0, heat_capacity_j_per_mol_k=99.0),
        crystal(-3.0, volume_per_atom=13.0),
    ],
)
def test_what_nature_has_is_possible(possible: Dataset) -> None:
    assert impossible_references(possible) == []
    assert doubtful_references(possible) == []


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        (
            difference(1250.594 * HARTREE, VACANCY),
            "item: reference of PBE: 34030.4 eV is more than 500 eV: "
            "meV, kJ/mol or kcal/mol taken for eV or hartree, or a total energy?",
        ),
        (
            difference(109.5),
            "item: reference of PBE: 109.5 eV is more than 30 eV for each of 2 atoms: "
            "meV, kJ/mol or kcal/mol taken for eV or hartree, or a total energy?",
        ),
        (
            difference(-1100.0 / 16.02, area=13.0),
            "item: reference of PBE: -68.6642 eV/Å² is more than 10 eV/Å² (160 J/m²): "
            "mJ/m² or meV/Å² taken for J/m² or eV/Å²?",
        ),
        (
            scan((0.0, 4750.0, -1.0)),
            "item: reference of PBE: a height of 4751 eV is more than 100 eV: "
            "meV, kJ/mol or kcal/mol taken for eV or hartree, or an energy of another system?",
        ),
        (
            scan((0.0, 60.0, 0.0), area=5.0),
            "item: reference of PBE: a height of 12 eV/Å² is more than 10 eV/Å²: "
            "mJ/m² taken for J/m², or an energy of another system?",
        ),
        (
            crystal(k_vrh_gpa=-50.0),
            "item: k_vrh_gpa of PBE: -50 GPa is not between 0 and 2000 GPa: a sign, or kbar, MPa or Pa taken for GPa?",
        ),
        (
            crystal(g_vrh_gpa=4.8e10),
            "item: g_vrh_gpa of PBE: 4.8e+10 GPa is not between 0 and 2000 GPa: "
            "a sign, or kbar, MPa or Pa taken for GPa?",
        ),
        (
            crystal(volume_per_atom=-3.0),
            "item: volume_per_atom of PBE: -3 Å³ is not between 1 and 500 Å³: "
            "the volume of the cell taken for that of an atom, or bohr³ or nm³ for Å³?",
        ),
        (
            crystal(25.0, volume_per_atom=4 * 10.5),
            "item: volume_per_atom of PBE: 42 Å³ is 3.57 times the structure's own 11.76 Å³, not 0.125 to 1.75: "
            "the volume of the cell taken for that of an atom, or bohr³ or nm³ for Å³?",
        ),
        (
            crystal(max_frequency_k=-12.0),
            "item: max_frequency_k of PBE: -12 K is not between 0 and 20000 K: "
            "an imaginary frequency, or another unit than K?",
        ),
        (
            crystal(entropy_j_per_mol_k=-4.0),
            "item: entropy_j_per_mol_k of PBE: -4 J/mol/K is not between 0 and inf J/mol/K: a sign?",
        ),
        (
            crystal(heat_capacity_j_per_mol_k=8 * 24.9),
            "item: heat_capacity_j_per_mol_k of PBE: 199.2 J/mol/K is more than 1.2 × 3R for each of 4 atoms (119.7): "
            "of the supercell, or another unit?",
        ),
        (
            crystal(10_000.0, volume_per_atom=10.8),
            "item: pressure_gpa: 10000 GPa is more than 2000 GPa: Pa, MPa or kbar taken for GPa?",
        ),
    ],
)
def test_an_impossible_reference_is_named(wrong: Dataset, line: str) -> None:
    assert impossible_references(wrong) == [line]
    assert line in summarise(wrong).impossible


def test_of_many_the_worst_is_named_and_all_are_counted() -> None:
    items = tuple(
        Crystal(id=f"Cu {k}", structure=0, reference={"PBE": {"k_vrh_gpa": k}}) for k in (-50.0, 140.0, -70.0)
    )
    (line,) = impossible_references(dataset(crystals=items))
    assert line.startswith("Cu -70.0: k_vrh_gpa of PBE: -70 GPa (2 such values in all) is not between 0 and 2000 GPa")


def test_crystals_harder_than_diamond_are_doubtful_unless_they_are_under_pressure() -> None:
    """Copper's 140 GPa in kbar are a possible number."""
    (line,) = doubtful_references(crystal(k_vrh_gpa=1400.0))
    assert (
        line
        == "item: k_vrh_gpa of PBE: 1400 GPa is more than 600 GPa, and diamond has 443 and 535: kbar taken for GPa?"
    )
    assert doubtful_references(crystal(300.0, k_vrh_gpa=1400.0)) == []


def test_atoms_are_those_of_the_fuller_side() -> None:
    frames = Frames.from_atoms(STRUCTURES)
    terms = (
        Summand(structure=0, coefficient=0.5),
        Summand(structure=2, coefficient=-3.0),
        Summand(structure=3, coefficient=1.0),
    )
    assert atoms_of_sum(Difference(id="x", terms=terms, reference={}), frames) == 6.0
    assert atoms_of_sum(Difference(id="x", terms=VACANCY, reference={}), frames) == 3.0

"""The elements of an item, and the class of its structures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, molecule

from judge.ranking.item_makeup import Makeup, StructureClass, makeup_of, makeups
from tasks.datasets.card import Difference
from tasks.kind import DatasetPart
from tasks.metrics.measurement import Items
from tests.judge.pages.choice_site import CRYSTALS, MELTS, SURFACES, dataset, salts

CRYSTAL, MOLECULE, SURFACE, LIQUID = (
    StructureClass.CRYSTAL,
    StructureClass.MOLECULE,
    StructureClass.SURFACE,
    StructureClass.LIQUID,
)


def items(*ids: str) -> Items:
    return Items(ids, ids, ids, np.zeros(len(ids), np.int8), {})


def slab(periodic: bool) -> Atoms:
    atoms = fcc111("Cu", (1, 1, 3), vacuum=6.0)
    atoms.pbc = (True, True, periodic)
    return atoms


def test_structures_have_the_class_of_their_periodicity_and_domain() -> None:
    frames = [bulk("Cu"), slab(False), molecule("H2O")]
    known = makeups(dataset(CRYSTALS, frames), DatasetPart.LABELS, "Inorganic Materials")
    assert list(known.values()) == [
        Makeup(("Cu",), CRYSTAL),
        Makeup(("Cu",), SURFACE),
        Makeup(("H", "O"), MOLECULE),
    ]
    of_catalysis = makeups(dataset(CRYSTALS, [slab(True)]), DatasetPart.LABELS, "Catalysis")
    assert list(of_catalysis.values()) == [Makeup(("Cu",), SURFACE)]


def test_a_difference_has_the_elements_of_all_its_structures() -> None:
    """An adsorption is one of a surface, though a molecule takes part; alternatives count."""
    frames = [slab(True), molecule("CO"), molecule("NH3")]
    terms = [{"structure": 0, "coefficient": 1.0}, {"structure": 1, "coefficient": -1.0, "alternatives": (2,)}]
    row = Difference(id="one", terms=terms, reference={"exact": 0.0})
    known = makeups(dataset(SURFACES, frames, differences=(row,)), DatasetPart.DIFFERENCES, "Catalysis")
    assert known == {"one": Makeup(("C", "Cu", "H", "N", "O"), SURFACE)}


@pytest.mark.parametrize(("title", "structure"), [("Molten salts", LIQUID), ("Salts", CRYSTAL)])
def test_systems_are_found_by_the_names_of_their_analyses(title: str, structure: StructureClass) -> None:
    frames, systems = salts()
    known = makeups(dataset(replace(MELTS, title=title), frames, systems=systems), DatasetPart.SYSTEMS, "")
    found = makeup_of(items("NaCl 1/stability", "LiF 0/g(r) Li/F"), known)
    assert found == [Makeup(("Cl", "Na"), structure), Makeup(("F", "Li"), structure)]
    assert makeup_of(items("NaCl 1/stability", "MgO 0/stability"), known) is None


def test_a_measured_diffusion_makes_a_liquid() -> None:
    frames, systems = salts()
    analysis = {"measure": "diffusion", "atoms": (0,), "from_ps": 1.0, "to_ps": 2.0, "reference": {"exact": 1.0}}
    flowing = tuple(system.model_validate({**system.model_dump(), "analyses": [analysis]}) for system in systems)
    known = makeups(dataset(replace(MELTS, title="Salts"), frames, systems=flowing), DatasetPart.SYSTEMS, "")
    assert {makeup.structure for makeup in known.values()} == {LIQUID}


def test_molecules_of_water_are_molecules() -> None:
    known = makeups(dataset(replace(CRYSTALS, title="Water"), [molecule("H2O")]), DatasetPart.LABELS, "Molecules")
    assert [makeup.structure for makeup in known.values()] == [MOLECULE]

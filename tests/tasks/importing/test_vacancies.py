"""Vacancies of metals: the published tables, and the formation energy of copper with EMT by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase.calculators.emt import EMT
from ase.filters import FrechetCellFilter
from ase.optimize import BFGS

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.importing.vacancies import import_migration, import_vacancies, supercell
from tasks.kinds.relaxed_structures import RelaxedStructures, RelaxedStructuresParameters
from tasks.model.calculator import InProcessCalculator

CARD = Card(
    name="vacancies", version="1", title="Vacancies", domain="Inorganic Materials", periodic=True,
    label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)}, default_label_set="PBE",
)  # fmt: skip


@pytest.mark.data
@pytest.mark.parametrize(("name", "n_atoms"), [("A1-fcc", 108), ("A2-hcp", 36)])
def test_published_tables(name: str, n_atoms: int, reference_data: Path) -> None:
    path = reference_data / "mlip_arena" / f"vacancy_migration-Table-{name}.csv"
    dataset = import_vacancies(path, CARD)
    assert len(dataset.table.differences) > 20
    assert set(dataset.frames.n_atoms.tolist()) == {n_atoms, n_atoms - 1}
    heads, *lines = path.read_text().splitlines()
    stated = [dict(zip(heads.split(","), line.split(","), strict=False)) for line in lines]
    first = next(row for row in stated if row["symbol"] == dataset.table.differences[0].id)
    assert dataset.table.differences[0].reference["PBE"] == float(first["e_vacform"])
    volume = dataset.frames.volumes[0] / n_atoms
    assert volume == pytest.approx(float(first["volume_per_atom"]))


@pytest.mark.slow
def test_copper_with_emt_by_hand(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "fcc.csv"
    path.write_text("symbol,volume_per_atom,e_vacform\nCu,12.0,1.07\nNi_mag,11.0,1.4\nAg,17.0,\n")
    dataset = import_vacancies(path, CARD)
    parameters = RelaxedStructuresParameters.model_validate({"relaxation": {"fmax": 1e-4, "max_steps": 500}})
    measured = run(RelaxedStructures(), dataset, InProcessCalculator(EMT()), parameters)
    energies = []
    for atoms in (supercell("Cu", "fcc", 12.0), supercell("Cu", "fcc", 12.0)[1:]):
        atoms.calc = EMT()
        assert BFGS(FrechetCellFilter(atoms), logfile=None).run(fmax=1e-4, steps=500)
        energies.append(atoms.get_potential_energy())
    expected = energies[1] - 107 / 108 * energies[0]
    columns, names = measured.items.columns, list(measured.items.id)
    assert columns["predicted"][names.index("Cu")] == pytest.approx(expected, abs=1e-4)
    assert measured.metrics["mae"].value == pytest.approx(abs(expected - 1.07), abs=1e-4)


def test_a_supercell_of_hcp_has_the_stated_volume() -> None:
    atoms = supercell("Mg", "hcp", 23.0)
    assert len(atoms) == 36
    assert atoms.get_volume() / 36 == pytest.approx(23.0)
    lengths = atoms.cell.lengths() / np.array([3, 3, 2])
    assert lengths[2] / lengths[0] == pytest.approx(np.sqrt(8 / 3))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("metals.csv", "symbol\n", "must end in fcc.csv or hcp.csv"),
        ("fcc.csv", "symbol,volume_per_atom,e_vacform\nXx,12,1\n", "row 1 (Xx): symbol: is no element"),
        ("fcc.csv", "symbol,volume_per_atom,e_vacform\nCu,12,?\n", "row 1 (Cu): could not convert"),
        ("fcc.csv", "symbol,volume_per_atom,e_vacform\nCu,12,1\nCu,12,1\n", "is there twice"),
        ("fcc.csv", "symbol,volume_per_atom,e_vacform\n", "e_vacform: no metal has one"),
    ],
)
def test_what_is_wrong_gets_one_line(name: str, text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DatasetError) as caught:
        import_vacancies(tmp_path / name, CARD)
    assert says in str(caught.value)


@pytest.mark.data
@pytest.mark.parametrize("name", ["A1-fcc", "A2-hcp"])
def test_the_neighbour_moves_into_the_vacancy(name: str, reference_data: Path) -> None:
    path = reference_data / "mlip_arena" / f"vacancy_migration-Table-{name}.csv"
    dataset = import_migration(path, CARD)
    assert len(dataset.table.paths) > 20
    for first in range(0, 6, 2):
        before, after = dataset.frames.atoms(first), dataset.frames.atoms(first + 1)
        moved = np.linalg.norm(after.positions - before.positions, axis=1)
        volume = before.get_volume() / (len(before) + 1)
        # Nearest neighbours of close packing: the cube root of √2 volumes of an atom.
        assert moved.max() == pytest.approx(np.cbrt(np.sqrt(2) * volume), rel=1e-6)
        assert np.count_nonzero(moved > 1e-9) == 1
        # The vacancy of the one is an atom of the other: each product has the lattice of the crystal.
        pairs = np.triu_indices(len(after), 1)
        apart = [np.sort(atoms.get_all_distances(mic=True)[pairs]) for atoms in (before, after)]
        np.testing.assert_allclose(*apart, atol=1e-6)
    assert dataset.table.paths[0].reference["PBE"].barrier is not None

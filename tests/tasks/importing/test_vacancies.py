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
from tasks.kinds.reaction_paths import ReactionPaths, ReactionPathsParameters
from tasks.kinds.relaxed_structures import RelaxedStructures, RelaxedStructuresParameters
from tasks.model.calculator import InProcessCalculator
from tasks.suites.suite import load_suite

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


@pytest.mark.parametrize("lattice", ["fcc", "hcp"])
def test_the_suite_has_the_protocol_of_mlip_arena(lattice: str) -> None:
    (task,) = [each for each in load_suite("materials").tasks if each.name == f"vacancy-migration-{lattice}"]
    assert isinstance(task.parameters, ReactionPathsParameters)
    band = task.parameters.band
    assert (band.n_images, band.interpolation, band.end_fmax, band.end_steps) == (7, "idpp", 0.05, 500)
    assert (band.steps, band.climbing_fmax, band.climbing_steps) == (0, 0.05, 500)


@pytest.mark.slow
def test_the_barrier_of_a_vacancy_with_emt_is_that_of_the_inversion_centre(tmp_path: Path, run: Any) -> None:
    """Half-way between two sites of hcp is a centre of inversion: relaxed from there, the atom stays on the saddle."""
    path = tmp_path / "hcp.csv"
    path.write_text("symbol,volume_per_atom,e_vacmig\nCu,11.7,0.7\n")
    (task,) = [each for each in load_suite("materials").tasks if each.name == "vacancy-migration-hcp"]
    measured = run(ReactionPaths(), import_migration(path, CARD), InProcessCalculator(EMT()), task.parameters)
    energies = []
    for share in (0.0, 0.5):
        atoms = supercell("Cu", "hcp", 11.7)
        atoms.positions[1] += share * atoms.get_distance(1, 0, mic=True, vector=True)
        del atoms[0]
        atoms.calc = EMT()
        assert BFGS(atoms, logfile=None).run(fmax=1e-3, steps=500)
        energies.append(atoms.get_potential_energy())
    assert measured.metrics["not_converged_percent"].value == 0.0
    assert measured.metrics["barrier_mae"].value == pytest.approx(abs(energies[1] - energies[0] - 0.7), abs=5e-3)


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
        ("fcc.csv", "symbol,volume_per_atom,e_vacform\nCu,12,nan\n", "row 1 (Cu): e_vacform: must be finite, not nan"),
        ("fcc.csv", "symbol,volume_per_atom,e_vacform\nCu,nan,1\n", "volume_per_atom: must be above zero and finite"),
        ("fcc.csv", "symbol,volume_per_atom,e_vacform\nCu,inf,1\n", "volume_per_atom: must be above zero and finite"),
        ("hcp.csv", "symbol,volume_per_atom,e_vacform\nCu,-11,1\n", "must be above zero and finite, not -11"),
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
        # In hcp the barrier of the table is of a neighbour in the next plane.
        hop = (after.positions - before.positions)[moved.argmax()]
        assert abs(hop[2]) == pytest.approx(np.sqrt(2 / 3 if name.endswith("hcp") else 1 / 2) * moved.max(), rel=1e-6)
        # The vacancy of the one is an atom of the other: each product has the lattice of the crystal.
        pairs = np.triu_indices(len(after), 1)
        apart = [np.sort(atoms.get_all_distances(mic=True)[pairs]) for atoms in (before, after)]
        np.testing.assert_allclose(*apart, atol=1e-6)
    assert dataset.table.paths[0].reference["PBE"].barrier is not None

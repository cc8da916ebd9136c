"""Equations of state from energies over volumes: the parameters that made the energies come back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.io import write

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.importing.equation_of_state_curves import CurveFile, import_equations_of_state
from tasks.importing.label_units import parse_units
from tasks.kinds.equation_of_state import EquationOfStateKind, EquationOfStateParameters
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.birch_murnaghan import EquationOfState, energy

CARD = Card(
    name="curves", version="1", title="Curves", domain="Inorganic Materials", periodic=True,
    label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)}, default_label_set="PBE",
)  # fmt: skip
COPPER = EquationOfState(11.95, 141.3, 4.86, -3.7)
SHARES = (1.06, 0.94, 0.96, 0.98, 1.0, 1.02, 1.04)  # in no order


def scan(name: str = "copper", eos: EquationOfState = COPPER, cell: Atoms | None = None, **info: Any) -> list[Atoms]:
    """Frames of a crystal whose energies are those of `eos`, per atom."""
    made, cell = [], bulk("Cu", cubic=True) if cell is None else cell
    for share in SHARES:
        atoms = cell.copy()
        volume = share * eos.v0
        atoms.set_cell(atoms.cell * np.cbrt(volume * len(atoms) / atoms.get_volume()), scale_atoms=True)
        atoms.info = {"name": name, "energy": len(atoms) * float(energy(np.array([volume]), eos)[0]), **info}
        made.append(atoms)
    return made


def imported(frames: list[Atoms], folder: Path, units: str = "ase") -> Any:
    write(folder / "curves.extxyz", frames)
    return import_equations_of_state(CurveFile(folder / "curves.extxyz", parse_units(units)), CARD)


def table_of(frames: list[Atoms], folder: Path, units: str = "ase") -> CurveFile:
    """The same scans as a table, and a crystal of each of another volume."""
    crystals = {atoms.info["name"]: atoms for atoms in frames}
    write(folder / "table.extxyz", list(crystals.values()))
    lines = [f"{atoms.info['name']},{atoms.get_volume():.10f},{atoms.info['energy']:.10f}" for atoms in frames]
    (folder / "table.csv").write_text("\n".join(["name,volume,energy", *lines]))
    return CurveFile(folder / "table.csv", parse_units(units))


def test_the_parameters_of_the_energies_are_the_references(tmp_path: Path) -> None:
    silver = EquationOfState(17.8, 91.0, 5.9, -2.7)
    frames = [each for pair in zip(scan(), scan("silver", silver, bulk("Ag")), strict=True) for each in pair]
    dataset = load_dataset(save_dataset(imported(frames, tmp_path), tmp_path / "data"))
    assert [curve.id for curve in dataset.table.curves] == ["copper", "silver"]
    for curve, eos in zip(dataset.table.curves, (COPPER, silver), strict=True):
        reference = curve.reference["PBE"]
        stated = (reference.v0_per_atom, reference.b0_gpa, reference.b0_prime)
        np.testing.assert_allclose(stated, eos[:3], rtol=1e-4)  # extended XYZ has eight decimals of positions
        assert reference.e0_per_atom is None
        volumes = dataset.frames.volumes[list(curve.structures)]
        np.testing.assert_allclose(volumes / volumes[0], np.sort(SHARES) / min(SHARES), rtol=1e-6)
    assert dataset.table.id[:2] == ("copper 0", "copper 1")


def test_curves_of_one_substance_are_phases(tmp_path: Path) -> None:
    bcc = COPPER._replace(v0=12.0, e0=COPPER.e0 + 0.035)
    curves = imported(
        [*scan("fcc", group="copper"), *scan("bcc", bcc, bulk("Cu", "bcc", a=2.87), group="copper")], tmp_path
    ).table.curves
    energies = [curve.reference["PBE"].e0_per_atom for curve in curves]
    assert energies[1] - energies[0] == pytest.approx(0.035, abs=1e-5)
    alloy = scan("silver", cell=bulk("Ag"), group="metals")
    curves = imported([*scan("copper", group="metals"), *alloy], tmp_path).table.curves
    assert [curve.group for curve in curves] == ["metals", "metals"]
    assert [curve.reference["PBE"].e0_per_atom for curve in curves] == [None, None]


def test_a_table_of_volumes_and_energies_is_the_same_scan(tmp_path: Path) -> None:
    frames = [*scan(group="metals"), *scan("silver", cell=bulk("Ag"), group="metals")]
    of_frames, of_table = imported(frames, tmp_path), import_equations_of_state(table_of(frames, tmp_path), CARD)
    assert of_table.table.id == of_frames.table.id
    assert of_table.table.group == of_frames.table.group
    np.testing.assert_allclose(of_table.frames.volumes, of_frames.frames.volumes, rtol=1e-6)
    np.testing.assert_allclose(of_table.frames.positions, of_frames.frames.positions, atol=1e-6)
    for one, other in zip(of_table.table.curves, of_frames.table.curves, strict=True):
        assert one.reference["PBE"].b0_gpa == pytest.approx(other.reference["PBE"].b0_gpa, rel=1e-4)


def test_another_level_of_theory_has_its_own_volumes_and_references(tmp_path: Path) -> None:
    softer = EquationOfState(12.6, 115.0, 5.1, -3.5)
    write(tmp_path / "pbe.extxyz", scan())
    card = CARD.model_copy(update={"label_sets": {**CARD.label_sets, "LDA": LabelSet(theory="LDA", dispersion=False)}})
    ase = parse_units("ase")
    file, also = CurveFile(tmp_path / "pbe.extxyz", ase), {"LDA": table_of(scan(eos=softer), tmp_path)}
    dataset = import_equations_of_state(file, card, also=also)
    (curve,) = dataset.table.curves
    assert curve.reference["PBE"].v0_per_atom == pytest.approx(COPPER.v0, rel=1e-4)
    assert curve.reference["LDA"].v0_per_atom == pytest.approx(softer.v0, rel=1e-4)
    assert curve.reference["LDA"].b0_gpa == pytest.approx(softer.b0_gpa, rel=1e-3)
    with pytest.raises(DatasetError, match=r"table.csv: name: copper is missing, which .*pbe.extxyz has"):
        import_equations_of_state(file, card, also={"LDA": table_of(scan("nickel"), tmp_path)})
    with pytest.raises(DatasetError, match="copper: has another composition"):
        import_equations_of_state(file, card, also={"LDA": table_of(scan(cell=bulk("Ag")), tmp_path)})


TABLES = {
    "no column": ("name,volume\ncopper,1", "energy: there is no such column: begin with the line name,volume,energy"),
    "another name": ("name,volume,energy\niron,40,-14", "line 2: name: there is no 'iron' in"),
    "no number": ("name,volume,energy\ncopper,large,-14", "line 2: volume: 'large' is no number"),
    "a negative volume": ("name,volume,energy\ncopper,-40,-14", "line 2: volume: must be above 0"),
    "a short line": ("name,volume,energy\ncopper,40", "line 2: energy: None is no number"),
    "no line": ("name,volume,energy\n", "has no line with a volume"),
}


@pytest.mark.parametrize("mistake", TABLES)
def test_a_mistake_of_a_table_has_one_line_with_its_place(mistake: str, tmp_path: Path) -> None:
    text, line = TABLES[mistake]
    file = table_of(scan(), tmp_path)
    file.path.write_text(text)
    with pytest.raises(DatasetError) as error:
        import_equations_of_state(file, CARD)
    assert line in str(error.value)


def test_energies_of_a_model_are_its_own_references(tmp_path: Path, run: Callable[..., Any]) -> None:
    frames = scan()
    for atoms in frames:
        atoms.calc = EMT()
        atoms.info["energy"] = atoms.get_potential_energy()
        atoms.calc = None
    measured = run(
        EquationOfStateKind(), imported(frames, tmp_path), InProcessCalculator(EMT()), EquationOfStateParameters()
    )
    assert measured.metrics["v0_mae_percent"].value < 0.01
    assert measured.metrics["b0_mae_percent"].value < 0.1


def test_units_are_those_that_are_stated(tmp_path: Path) -> None:
    frames = scan()
    for atoms in frames:
        atoms.info["energy"] *= 1000
    reference = imported(frames, tmp_path, "energy=meV,length=angstrom").table.curves[0].reference["PBE"]
    assert reference.b0_gpa == pytest.approx(COPPER.b0_gpa, rel=1e-4)


def changed(row: int, **info: Any) -> list[Atoms]:
    frames = scan()
    frames[row].info |= info
    return frames


def without(key: str) -> list[Atoms]:
    frames = scan()
    del frames[2].info[key]
    return frames


def isolated() -> list[Atoms]:
    frames = scan()
    frames[3].pbc = False
    return frames


MISTAKES: dict[str, tuple[list[Atoms], str]] = {
    "no name": (
        without("name"),
        "frame 2: name: is missing: write name= in its comment line, as its curve needs it of every frame",
    ),
    "no energy": (without("energy"), "copper: energy: frame 2 has none: write energy= in its comment line"),
    "four volumes": (scan()[:4], "copper: has 4 volumes: a curve needs 5 or more"),
    "a volume twice": (
        [*scan(), scan()[0]],
        "copper: name: two frames have one volume: give each crystal its own name",
    ),
    "two crystals": ([*scan(), *scan(cell=bulk("Ag"))], "copper: name: its frames have 2 compositions: give each"),
    "two groups": (changed(1, group="x"), "copper: name: its frames have 2 groups"),
    "an outlier": (changed(4, energy=-14.0), "copper: energy: "),
    "no crystal": (isolated(), "copper: pbc: is no crystal, which is periodic in all directions"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_has_one_line_with_file_crystal_and_remedy(mistake: str, tmp_path: Path) -> None:
    frames, line = MISTAKES[mistake]
    with pytest.raises(DatasetError) as error:
        imported(frames, tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'curves.extxyz'}: ")
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_volumes_on_one_side_show_no_minimum(tmp_path: Path) -> None:
    frames = []
    for share in (0.90, 0.91, 0.92, 0.93, 0.94):
        (atoms,) = scan()[4:5]
        atoms.set_cell(atoms.cell * np.cbrt(share), scale_atoms=True)
        atoms.info["energy"] = 4 * float(energy(np.array([share * COPPER.v0]), COPPER)[0])
        frames.append(atoms)
    with pytest.raises(DatasetError, match=r"energy: has no minimum within its volumes.*: add volumes on both sides"):
        imported(frames, tmp_path)


def test_curves_that_volumes_do_not_tell_apart_are_numbered(tmp_path: Path) -> None:
    large = COPPER._replace(v0=2 * COPPER.v0)
    assert imported(scan() + scan("large", large), tmp_path).conditions["curve"].tolist() == [0] * 7 + [1] * 7
    assert imported(scan("large", large) + scan(), tmp_path).conditions == {}

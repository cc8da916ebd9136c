"""`judge data import`: DeePMD systems, reactions, scans, crystals and phonopy files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import write

from tasks.datasets.dataset import load_dataset
from tests.judge.cli.data_command import MOLECULES, NAMED, faces, mine, run
from tests.tasks.importing.phonopy_texts import copper, text_of
from tests.tasks.importing.test_diatomics_import import FILE
from tests.tasks.importing.test_dynamics_import import folder, waters
from tests.world.world import World


def deepmd(folder: Path, made: list[Atoms]) -> None:
    (folder / "set.000").mkdir(parents=True)
    (folder / "type_map.raw").write_text("Pt\nH\nO\n")
    (folder / "type.raw").write_text(" ".join(str(["Pt", "H", "O"].index(s)) for s in made[0].symbols))
    arrays = {"coord": "positions", "box": "cell"} if made[0].pbc.all() else {"coord": "positions"}
    for name, field in arrays.items():
        np.save(folder / "set.000" / f"{name}.npy", np.array([np.asarray(getattr(a, field)).ravel() for a in made]))
    np.save(folder / "set.000" / "energy.npy", np.array([a.get_potential_energy() for a in made]))


def test_deepmd_with_charges_in_fparam(data_world: World) -> None:
    made = []
    for i in range(20):
        atoms = molecule("OH")
        atoms.calc = SinglePointCalculator(atoms, energy=-10.0 - 0.1 * i)
        made.append(atoms)
    deepmd(Path("oh"), made)
    (Path("oh") / "nopbc").touch()
    command = ("import", "deepmd", "oh", *MOLECULES)
    status, _, err = run(*command)
    assert status == 2
    assert "oh: oh/set.000/0: multiplicity: 2S+1 of this molecule (and of 19 more) is not stated" in err
    assert "add a column to fparam.npy and name it multiplicity in --fparam, or give --multiplicity 1" in err
    np.save("oh/set.000/fparam.npy", np.array([[-1.0, 1.0]] * 10 + [[0.0, 2.0]] * 10))
    status, _, err = run(*command)
    assert status == 2
    assert "fparam.npy: what its columns are is not stated; say so, as in --fparam charge,multiplicity" in err
    status, _, err = run(*command, "--fparam", "charge,spin")
    assert "--fparam: 'spin': each column is charge, multiplicity or other, the first two once" in err
    status, _, err = run(*command, "--cluster", "info:run")
    assert status == 2
    assert "--cluster: info:run is not for deepmd, which has no info: say group, its systems" in err
    status, _, err = run(*command, "--units", "ase")
    assert "--units: is not for deepmd, which states its units; leave it out" in err
    status, out, err = run(*command, "--fparam", "charge,multiplicity")
    assert status == 0, err
    assert "charge: -1 × 10, 0 × 10; 2S+1: 1 × 10, 2 × 10" in out
    assert mine(data_world).frames.charge.tolist() == [-1] * 10 + [0] * 10


@pytest.mark.parametrize("format", ["deepmd", "reactions", "scans", "crystals", "dynamics", "phonopy"])
def test_a_missing_folder_is_refused(data_world: World, format: str) -> None:
    status, _, err = run("import", format, "nowhere", *NAMED)
    assert (status, err) == (2, "judge: nowhere: is not there")
    Path("file").touch()
    status, _, err = run("import", format, "file", *NAMED)
    assert (status, err) == (2, f"judge: file: is a file: {format} is a folder")


@pytest.mark.parametrize("format", ["reactions", "scans", "crystals"])
def test_another_level_of_a_table_is_in_the_table(data_world: World, format: str) -> None:
    status, _, err = run("import", format, "nowhere", *NAMED, "--also", "PBE=there")
    assert status == 2
    assert f"--also: is not for {format}: state both levels as `references` in {format}.json" in err
    assert '--also-theory "LABELSET=WORDS"' in err


def test_impossible_references_are_refused_unless_trusted(data_world: World) -> None:
    faces(Path("faces"), 1000.0)
    status, out, err = run("import", "reactions", "faces", *NAMED)
    assert status == 2
    assert "faces: Pt(111): reference of EMT: " in err
    assert "eV/Å² is more than 10 eV/Å² (160 J/m²): mJ/m² or meV/Å² taken for J/m² or eV/Å²?" in err
    assert "IMPOSSIBLE  Pt(111): reference of EMT" in out
    assert run("import", "reactions", "faces", *NAMED, "--trust-ranges")[0] == 0


def test_systems_for_dynamics_are_a_format(data_world: World) -> None:
    water = waters()
    folder(Path("."), [water], [{"measure": "density", "reference": 997.0}])
    status, _, err = run("import", "dynamics", ".", *MOLECULES)
    assert status == 2
    why = "is not between 1e-05 and 30 g/cm³: kg/m³ taken for g/cm³?"
    assert f"water: density of PBE: 997 g/cm³ {why}" in err
    folder(Path("."), [water], [{"measure": "density", "reference": 0.997}])
    status, out, err = run("import", "dynamics", ".", *MOLECULES)
    assert status == 0, err
    assert "reference of PBE: density: 0.997 to 0.997" in out
    assert "judge data verify" not in out  # it would compare nothing
    assert 'A task of a suite names it: dataset = "mine@1"' in out
    (system,) = mine(data_world).table.systems
    assert system.id == "water"


def test_reactions_scans_and_phonopy_are_formats(data_world: World) -> None:
    hydrogen, atom = molecule("H2"), molecule("H")
    hydrogen.info |= {"name": "H2", "multiplicity": 1}
    atom.info |= {"name": "H", "multiplicity": 2}
    Path("reactions").mkdir()
    write("reactions/structures.extxyz", [hydrogen, atom])
    terms = [{"coefficient": -1.0, "structure": "H2"}, {"coefficient": 2.0, "structure": "H"}]
    reactions = [{"id": "split", "terms": terms, "reference": 109.5}]
    Path("reactions/reactions.json").write_text(json.dumps({"reference_unit": "kcal/mol", "reactions": reactions}))
    status, out, err = run("import", "reactions", "reactions", *MOLECULES)
    assert status == 0, err
    assert "reference of PBE: difference [eV]: 4.748 to 4.748" in out
    assert "clusters of items: 1, each its own" in out.splitlines()
    Path("scans").mkdir()
    steps = []
    for x in (0.7, 0.8, 0.9):
        step = Atoms("H2", [(0, 0, 0), (0, 0, x)], info={"x": x, "multiplicity": 1, "energy": -30 + x})
        steps.append(step)
    write("scans/stretch.extxyz", steps)
    status, out, err = run("import", "scans", "scans", "--name", "scans", *MOLECULES[2:])
    assert status == 0, err
    assert "reference of PBE: height of a profile [eV]: 0.2 to 0.2" in out
    Path("phonopy").mkdir()
    status, _, err = run("import", "phonopy", "phonopy", *NAMED, "--version", "2")
    assert status == 2
    assert "phonopy: there is no file of phonopy" in err


def test_phonons_keep_the_temperature_and_mesh_that_they_were_imported_at(data_world: World) -> None:
    Path("saved").mkdir()
    Path("saved/Cu.yaml").write_text(text_of(copper(), Path("saved")))
    status, out, err = run("import", "phonopy", "saved", *NAMED, "--temperature", "500", "--mesh", "20")
    assert status == 0, err
    assert "entropy_j_per_mol_k" in out
    (folder,) = data_world.settings.data.glob("mine@1")
    dataset = load_dataset(folder)
    assert dataset.card.settings == {"temperature_k": 500.0, "mesh": 20.0}
    suite = (
        (data_world.root / "small.toml")
        .read_text()
        .replace("copper@1", "mine@1", 1)
        .replace("labelled_frames", "phonons", 1)
    )
    (data_world.root / "phonons.toml").write_text(suite)
    data_world.submit("emt")
    with pytest.raises(ValueError, match=r"references are of temperature_k = 500, the task is of 300\.0"):
        data_world.evaluate(suite=str(data_world.root / "phonons.toml"), tasks=("copper",))
    status, _, err = run("import", "reactions", "saved", *NAMED, "--mesh", "20")
    assert (status, "--mesh: is not for reactions" in err) == (2, True)


def test_diatomics_are_a_file_with_a_level_of_theory_or_more(data_world: World) -> None:
    Path("pairs.json").write_text(json.dumps(FILE))
    status, out, err = run("import", "diatomics", "pairs.json", *NAMED)
    assert (status, err) == (2, "judge: pairs.json: EMT: is not in it: it has PBE, r2SCAN")
    command = ("import", "diatomics", "pairs.json", *NAMED[:-1], "PBE")
    status, _, err = run(*command, "--units", "ase")
    assert (status, err) == (2, "judge: --units: is not for diatomics, which states its units; leave it out")
    status, out, err = run(*command, "--also-theory", "r2SCAN=r2SCAN")
    assert status == 0, err
    assert "595 structures of 2 atoms, 1190 in all, 5 items" in out
    assert "reference of r2SCAN: depth of a pair [eV]: " in out
    assert "IMPOSSIBLE" not in out
    assert [sorted(pair.reference) for pair in mine(data_world).table.pairs][-2:] == [["PBE", "r2SCAN"], ["PBE"]]

"""`judge data verify --with`: wrong units and signs of labels are named against a model."""

from __future__ import annotations

import json
from pathlib import Path

import docker
import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import write

from tests.judge.cli.data_command import NAMED, crystals, faces, run
from tests.world.small_data import EMT_FOLDER
from tests.world.world import World


def test_differences_and_scans_are_compared_and_crystals_are_not(data_world: World) -> None:
    faces(Path("right"), 1.0)
    faces(Path("double"), 2.0)
    for name in ("right", "double"):
        assert run("import", "reactions", name, "--name", name, *NAMED[2:])[0] == 0
    Path("scans").mkdir()
    steps = []
    for x in (0.95, 1.0, 1.05, 1.1):
        atoms = bulk("Pt", cubic=True)
        atoms.set_cell(atoms.cell * x, scale_atoms=True)
        atoms.calc = EMT()
        energy = -atoms.get_potential_energy() / units.Hartree
        atoms.calc, atoms.info = None, {"x": x, "energy": energy}
        steps.append(atoms)
    write("scans/strain.extxyz", steps)
    assert run("import", "scans", "scans", "--name", "scans", *NAMED[2:])[0] == 0
    crystal = {"id": "Pt", "structure": "solid", "reference": {"k_vrh_gpa": 280.0}}
    Path("right/crystals.json").write_text(json.dumps({"crystals": [crystal]}))
    assert run("import", "crystals", "right", "--name", "crystals", *NAMED[2:])[0] == 0
    names = ("right@1", "double@1", "scans@1", "crystals@1")
    status, out, err = run("verify", *names, "--with", str(EMT_FOLDER), "--driver", "process")
    assert status == 1, err
    assert "right@1 [EMT] differences per area: correlation 1.0000, slope 1 (1 of 1 items)" in out
    wrong = [line.removeprefix("NOT  ") for line in out.splitlines() if line.startswith("NOT")]
    assert wrong[:2] == [
        "double@1 [EMT] differences per area: labels are 2 times the model's: "
        "the area of one surface taken for that of both (2)",
        "scans@1 [EMT] scans: negative correlation: their sign is the opposite of the model's: correct the references",
    ]
    assert wrong[2].startswith("scans@1 [EMT] scans: labels are 0.03675 times the model's: hartree taken for eV (1/27")
    assert len(wrong) == 3
    assert "crystals@1 crystals: not compared: properties of crystals take relaxations" in out


def test_labels_that_are_right_pass_against_a_model(data_world: World) -> None:
    write("mine.extxyz", crystals())
    assert run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase")[0] == 0
    status, out, err = run("verify", "mine@1", "--with", str(EMT_FOLDER), "--driver", "process", "--frames", "6")
    assert status == 0, out + err
    for name in ("energy", "forces", "stress"):
        assert f"mine@1 [EMT] {name}: correlation 1.0000, slope 1 (6 of 6 frames)" in out


def test_a_wrong_unit_and_a_wrong_sign_are_named_against_a_model(data_world: World) -> None:
    """Energies in hartree and stresses of VASP's sign, imported as if they were ASE's; both are possible numbers."""
    write("mine.extxyz", crystals(energy=1 / units.Hartree, stress=-1.0))
    assert run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase")[0] == 0
    status, out, err = run("verify", "mine@1", "copper@1", "--with", str(EMT_FOLDER), "--driver", "process")
    assert status == 1, err
    named = [line for line in out.splitlines() if line.startswith("NOT")]
    assert len(named) == 2
    assert named[0].startswith("NOT  mine@1 [EMT] energy: labels are 0.03675 times the model's: hartree taken for eV")
    assert named[1].startswith("NOT  mine@1 [EMT] stress: negative correlation: their sign is the opposite")
    assert "mine@1 [EMT] forces: correlation 1.0000" in out
    assert "energy: 6 frames with energy for 1 independent composition are fewer than 10 each" in out  # of copper@1


def test_a_model_that_cannot_be_run_verifies_nothing(data_world: World) -> None:
    status, _, err = run("verify", "copper@1", "--with", "nowhere", "--driver", "process")
    assert status == 2
    assert "--with nowhere: There is no folder 'nowhere'" in err
    data_world.folder("broken", "def make_calculator():\n    raise ValueError('no weights')\n")
    status, out, _ = run("verify", "copper@1", "--with", "broken", "--driver", "process")
    assert status == 1
    assert "copper@1 [EMT]: broken: STARTUP_FAILED: " in out


@pytest.mark.docker
def test_labels_are_compared_with_an_image(data_world: World, images: docker.DockerClient) -> None:
    status, out, err = run("verify", "copper@1", "--with", "lambench/emt:latest", "--driver", "docker")
    assert status == 0, out + err
    assert "copper@1 [EMT] stress: correlation 1.0000, slope 1 (6 of 6 frames)" in out


def labelled_per_atom(*cells: int) -> list[Atoms]:
    """Copper of 4 times so many atoms, with EMT's energy per atom as its energy."""
    rng, frames = np.random.default_rng(1), []
    for n in cells:
        atoms = bulk("Cu", cubic=True).repeat((n, 1, 1))
        atoms.set_cell(atoms.cell * rng.uniform(0.97, 1.03), scale_atoms=True)
        atoms.positions += rng.normal(0, 0.08, atoms.positions.shape)
        atoms.calc = EMT()
        atoms.calc = SinglePointCalculator(atoms, energy=atoms.get_potential_energy() / len(atoms))
        frames.append(atoms)
    return frames


def test_energies_per_atom_are_named_against_a_model(data_world: World) -> None:
    write("mine.extxyz", labelled_per_atom(*(1, 2, 3) * 4))
    write("small.extxyz", labelled_per_atom(*(1,) * 12))
    assert run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase")[0] == 0
    assert run("import", "extxyz", "small.extxyz", "--name", "small", *NAMED[2:], "--units", "ase")[0] == 0
    status, out, err = run("verify", "mine@1", "small@1", "--with", str(EMT_FOLDER), "--driver", "process")
    assert status == 1, err
    of_several_sizes, of_one_size = (line for line in out.splitlines() if line.startswith("NOT"))
    wrong = "energies per atom taken for totals"
    assert of_several_sizes.startswith(f"NOT  mine@1 [EMT] energy: labels are {wrong}: correlation ")
    assert of_one_size == f"NOT  small@1 [EMT] energy: labels are 0.25 times the model's: {wrong} (1/4)"

"""`judge data import` and `verify --with`: every format through the command, and each refusal in one line."""

from __future__ import annotations

import json
from pathlib import Path

import docker
import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk, fcc111, molecule
from ase.calculators.emt import EMT
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import write
from typer.testing import CliRunner

from judge.cli.main import explain
from judge.cli.maintainer.data import app
from tasks.datasets.dataset import Dataset, load_dataset
from tests.tasks.importing.test_phonopy_files import copper, text_of
from tests.world.small_data import EMT_FOLDER, labelled
from tests.world.world import World

NAMED = ("--name", "mine", "--version", "1", "--domain", "Inorganic Materials", "--label-set", "EMT")
MOLECULES = ("--name", "mine", "--version", "1", "--domain", "Molecules", "--label-set", "PBE")


@pytest.fixture
def place(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    world.write_settings()
    monkeypatch.chdir(world.root)
    return world


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit status, standard output, and the line that `judge` makes of an error."""
    result = CliRunner().invoke(app, arguments)
    if result.exception is None or isinstance(result.exception, SystemExit):
        return result.exit_code, result.stdout, result.stderr
    line, status = explain(result.exception)
    return status, result.stdout, line


def mine(world: World) -> Dataset:
    return load_dataset(world.root / "data" / "mine@1")


def crystals(**factors: float) -> list[Atoms]:
    """Ten cells of platinum with EMT's labels, each `factors[name]` times as large."""
    made = []
    for atoms in labelled("Pt", 10):
        values = {"energy": atoms.get_potential_energy(), "forces": atoms.get_forces(), "stress": atoms.get_stress()}
        copy = atoms.copy()
        copy.calc = SinglePointCalculator(copy, **{k: factors.get(k, 1.0) * v for k, v in values.items()})
        made.append(copy)
    return made


def test_stated_units_are_those_of_the_data_set(place: World) -> None:
    made = crystals(energy=1 / units.Hartree, forces=units.Bohr / units.Hartree, stress=-10 / units.GPa)
    write("mine.extxyz", made)
    stated = "energy=hartree,length=angstrom,forces=hartree/bohr,stress=-kbar"
    status, out, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", stated, "--cluster", "composition")
    assert status == 0, err
    labels, right = mine(place).labels(), crystals()
    np.testing.assert_allclose(labels.energy, [a.get_potential_energy() for a in right], atol=1e-6)
    np.testing.assert_allclose(labels.forces, np.concatenate([a.get_forces() for a in right]), atol=1e-6)
    np.testing.assert_allclose(labels.stress, [a.get_stress() for a in right], atol=1e-7)
    assert set(mine(place).clusters) == {"Pt8"}
    assert mine(place).card.cluster_column == "composition"
    assert "clusters of frames (by composition): 1, median 10 frames, largest 10" in out.splitlines()
    alone = "DOUBTFUL  clusters: there is one alone: it cannot be resampled, and intervals will be too narrow"
    assert alone in out.splitlines()
    largest = max(np.abs(a.get_stress()).max() for a in right) / units.GPa
    assert "10 structures of 8 atoms, 80 in all" in out
    assert "charge: 0 × 10; 2S+1: not stated × 10" in out
    assert f" to {largest:.4g}, median" in out.partition("size of a stress component [GPa]: ")[2].splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "--units: is missing: extxyz does not state its units; say ase, or energy="),
        (
            ("--units", "ase", "--fparam", "charge"),
            "--fparam: is not for extxyz, which has no use for it",
        ),
        (("--units", "ase", "--without", "charges"), "--without: 'charges' is no label: say energy, forces, stress"),
        (("--units", "ase", "--d3", "pbe-bj"), "--d3: states the correction that the labels contain: say --dispersion"),
        (
            ("--units", "ase", "--dispersion", "--d3", "pbe"),
            "--d3: 'pbe' must be a functional and bj or zero, as",
        ),
        (("--units", "ase", "--also", "PBE"), "--also: 'PBE' must be LABELSET=…, each label set once"),
        (("--units", "ase", "--also-theory", "PBE=words"), '--also: says nothing of PBE; say --also "PBE=PATH"'),
        (("--units", "ase", "--also", "EMT=x.xyz"), "--also…: EMT is --label-set itself; name another label set"),
        (("--units", "ase", "--also", "PBE=nowhere.xyz"), "nowhere.xyz: is not there"),
        (
            ("--units", "ase", "--cluster", "trajectory"),
            "--cluster: 'trajectory' must be composition, group, none or info:FIELD, as in info:trajectory",
        ),
        (
            ("--units", "ase", "--cluster", "info:run"),
            "mine.extxyz: frame 0: run: is missing: write run= in its comment line, as --cluster info:run needs it of",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(place: World, arguments: tuple[str, ...], says: str) -> None:
    write("mine.extxyz", crystals())
    status, _, err = run("import", "extxyz", "mine.extxyz", *NAMED, *arguments)
    assert status == 2
    assert says in err
    assert "\n" not in err
    assert not (place.root / "data" / "mine@1").exists()


def test_several_label_sets_each_with_its_own_theory_and_units(place: World) -> None:
    write("one.extxyz", crystals())
    write("two.extxyz", crystals(energy=2 / units.Hartree, forces=2 * units.Bohr / units.Hartree))
    also = ("--also", "r2SCAN=two.extxyz", "--also-theory", "r2SCAN=r2SCAN-D4, k = 8", "--also-dispersion", "r2SCAN")
    d3 = ("--theory", "PBE-D3(BJ)", "--dispersion", "--d3", "pbe-bj", "--units", "ase")
    units_of = "r2SCAN=energy=hartree,length=angstrom,forces=hartree/bohr,stress="
    status, _, err = run("import", "extxyz", "one.extxyz", *NAMED, *d3, *also, "--also-units", f"{units_of}ase")
    assert status == 2
    assert "--units: stress: 'ase' is no unit of it" in err
    status, out, err = run("import", "extxyz", "one.extxyz", *NAMED, *d3, *also, "--also-units", f"{units_of}eV/Å^3")
    assert status == 0, err
    card = mine(place).card
    assert card.label_sets["EMT"].theory == "PBE-D3(BJ)"
    assert card.label_sets["EMT"].d3 is not None
    assert (card.label_sets["EMT"].d3.functional, card.label_sets["EMT"].d3.damping) == ("pbe", "bj")
    assert (card.label_sets["r2SCAN"].theory, card.label_sets["r2SCAN"].dispersion) == ("r2SCAN-D4, k = 8", True)
    one, two = mine(place).labels("EMT"), mine(place).labels("r2SCAN")
    np.testing.assert_allclose(two.energy, 2 * np.asarray(one.energy), atol=1e-6)
    assert "label set EMT" in out
    assert "label set r2SCAN" in out


def test_impossible_numbers_are_shown_and_refused_unless_trusted(place: World) -> None:
    write("mine.extxyz", crystals(stress=1e5, forces=1e4))
    status, out, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase")
    assert status == 2
    assert out.count("IMPOSSIBLE") == 2
    assert "IMPOSSIBLE  EMT: stress: frame " in out
    assert "mine.extxyz: EMT: forces: frame " in err
    assert "meV/Å or kcal/mol/Å taken for eV/Å" in err
    assert "(and 1 more, above) Correct it, or say --trust-ranges if it is meant" in err
    status, _, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase", "--trust-ranges")
    assert status == 0, err
    assert mine(place).labels().stress is not None


def deepmd(folder: Path, made: list[Atoms]) -> None:
    (folder / "set.000").mkdir(parents=True)
    (folder / "type_map.raw").write_text("Pt\nH\nO\n")
    (folder / "type.raw").write_text(" ".join(str(["Pt", "H", "O"].index(s)) for s in made[0].symbols))
    arrays = {"coord": "positions", "box": "cell"} if made[0].pbc.all() else {"coord": "positions"}
    for name, field in arrays.items():
        np.save(folder / "set.000" / f"{name}.npy", np.array([np.asarray(getattr(a, field)).ravel() for a in made]))
    np.save(folder / "set.000" / "energy.npy", np.array([a.get_potential_energy() for a in made]))


def test_deepmd_with_charges_in_fparam(place: World) -> None:
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
    assert mine(place).frames.charge.tolist() == [-1] * 10 + [0] * 10


def test_a_multiplicity_for_all_molecules(place: World) -> None:
    waters = []
    for i in range(20):
        atoms = molecule("H2O")
        atoms.calc = SinglePointCalculator(atoms, energy=-14.0 - 0.01 * i)
        waters.append(atoms)
    write("water.extxyz", waters)
    command = ("import", "extxyz", "water.extxyz", *MOLECULES, "--units", "ase")
    status, _, err = run(*command)
    assert status == 2
    assert "water.extxyz: frame 0: multiplicity: 2S+1 of this molecule (and of 19 more) is not stated" in err
    assert "--multiplicity 1 for all" in err
    assert run(*command, "--multiplicity", "1")[0] == 0
    assert set(mine(place).frames.multiplicity.tolist()) == {1}


def test_fields_that_were_not_read_are_shown(place: World) -> None:
    made = crystals()
    for i, atoms in enumerate(made):
        atoms.info["enrgy"] = 1.0 * i
        atoms.calc.results.pop("energy")
    write("mine.extxyz", made)
    status, out, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase")
    assert status == 0, err
    assert "not used: enrgy (10 frames)" in out.splitlines()
    assert mine(place).labels().energy is None


def test_a_field_names_the_trajectories_and_few_of_them_are_doubtful(place: World) -> None:
    made = crystals()
    for i, atoms in enumerate(made):
        atoms.info["run"] = f"at {100 * (i // 4)} K"  # of 4, 4 and 2 frames
    write("mine.extxyz", made)
    write("other.extxyz", crystals())  # labels of another level need not say it again
    also = ("--also", "PBE=other.extxyz")
    status, out, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase", *also, "--cluster", "info:run")
    assert status == 0, err
    assert "clusters of frames (by info:run): 3, median 4 frames, largest 4" in out.splitlines()
    assert "DOUBTFUL  clusters: 3 are fewer than 10: intervals will be wide" in out.splitlines()
    assert mine(place).card.cluster_column == "info:run"
    assert mine(place).clusters == ("at 0 K",) * 4 + ("at 100 K",) * 4 + ("at 200 K",) * 2


def test_ten_clusters_are_not_called_few(place: World) -> None:
    write("mine.extxyz", crystals())
    status, out, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase")
    assert status == 0, err
    assert "clusters of frames: 10, each its own" in out.splitlines()
    assert "DOUBTFUL  clusters" not in out


@pytest.mark.parametrize("format", ["deepmd", "reactions", "scans", "crystals", "phonopy"])
def test_a_folder_that_is_not_there_is_said_not_to_be(place: World, format: str) -> None:
    status, _, err = run("import", format, "nowhere", *NAMED)
    assert (status, err) == (2, "judge: nowhere: is not there")
    Path("file").touch()
    status, _, err = run("import", format, "file", *NAMED)
    assert (status, err) == (2, f"judge: file: is a file: {format} is a folder")


@pytest.mark.parametrize("format", ["reactions", "scans", "crystals"])
def test_another_level_of_a_table_is_in_the_table(place: World, format: str) -> None:
    status, _, err = run("import", format, "nowhere", *NAMED, "--also", "PBE=there")
    assert status == 2
    assert f"--also: is not for {format}: state both levels as `references` in {format}.json" in err
    assert '--also-theory "LABELSET=WORDS"' in err


def faces(folder: Path, factor: float) -> None:
    """Surface energies of platinum by EMT in J/m², `factor` times as large, and its cubic cell under strain."""
    slab, solid = fcc111("Pt", (1, 1, 4), vacuum=6.0, periodic=True), bulk("Pt")
    energy = {}
    for name, atoms in (("slab", slab), ("solid", solid)):
        atoms.info = {"name": name}
        atoms.calc = EMT()
        energy[name] = atoms.get_potential_energy()
        atoms.calc = None
    area = 2 * float(np.linalg.norm(np.cross(slab.cell[0], slab.cell[1])))
    reference = (energy["slab"] - 4 * energy["solid"]) / area * 16.021766
    terms = [{"structure": "slab", "coefficient": 1}, {"structure": "solid", "coefficient": -4}]
    reaction = {"id": "Pt(111)", "terms": terms, "area_angstrom2": area, "reference": factor * reference}
    folder.mkdir()
    write(folder / "structures.extxyz", [slab, solid])
    (folder / "reactions.json").write_text(json.dumps({"reference_unit": "J/m²", "reactions": [reaction]}))


def test_impossible_references_are_refused_unless_trusted(place: World) -> None:
    faces(Path("faces"), 1000.0)
    status, out, err = run("import", "reactions", "faces", *NAMED)
    assert status == 2
    assert "faces: Pt(111): reference of EMT: " in err
    assert "eV/Å² is more than 10 eV/Å² (160 J/m²): mJ/m² or meV/Å² taken for J/m² or eV/Å²?" in err
    assert "IMPOSSIBLE  Pt(111): reference of EMT" in out
    assert run("import", "reactions", "faces", *NAMED, "--trust-ranges")[0] == 0


def test_differences_scans_and_crystals_are_compared_or_said_not_to_be(place: World) -> None:
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


def test_reactions_scans_and_phonopy_are_formats(place: World) -> None:
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
    status, _, err = run("import", "phonopy", "phonopy", *NAMED)
    assert status == 2
    assert "phonopy: there is no file of phonopy" in err


def test_phonons_keep_the_temperature_and_mesh_that_they_were_imported_at(place: World) -> None:
    Path("saved").mkdir()
    Path("saved/Cu.yaml").write_text(text_of(copper(), Path("saved")))
    status, out, err = run("import", "phonopy", "saved", *NAMED, "--temperature", "500", "--mesh", "20")
    assert status == 0, err
    assert "entropy_j_per_mol_k" in out
    (folder,) = place.settings.data.glob("mine@1")
    dataset = load_dataset(folder)
    assert dataset.card.settings == {"temperature_k": 500.0, "mesh": 20.0}
    suite = (
        (place.root / "small.toml")
        .read_text()
        .replace("copper@1", "mine@1", 1)
        .replace("labelled_frames", "phonons", 1)
    )
    (place.root / "phonons.toml").write_text(suite)
    place.submit("emt")
    with pytest.raises(ValueError, match=r"references are of temperature_k = 500, the task is of 300\.0"):
        place.evaluate(suite=str(place.root / "phonons.toml"), tasks=("copper",))
    status, _, err = run("import", "reactions", "saved", *NAMED, "--mesh", "20")
    assert (status, "--mesh: is not for reactions" in err) == (2, True)


def test_labels_that_are_right_pass_against_a_model(place: World) -> None:
    write("mine.extxyz", crystals())
    assert run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase")[0] == 0
    status, out, err = run("verify", "mine@1", "--with", str(EMT_FOLDER), "--driver", "process", "--frames", "6")
    assert status == 0, out + err
    for name in ("energy", "forces", "stress"):
        assert f"mine@1 [EMT] {name}: correlation 1.0000, slope 1 (6 of 6 frames)" in out


def test_a_wrong_unit_and_a_wrong_sign_are_named_against_a_model(place: World) -> None:
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
    assert "energy: 6 frames with energy for 1 fitted element are fewer than 10 each" in out  # of copper@1


def test_a_model_that_cannot_be_run_verifies_nothing(place: World) -> None:
    status, _, err = run("verify", "copper@1", "--with", "nowhere", "--driver", "process")
    assert status == 2
    assert "--with nowhere: There is no folder 'nowhere'" in err
    place.folder("broken", "def make_calculator():\n    raise ValueError('no weights')\n")
    status, out, _ = run("verify", "copper@1", "--with", "broken", "--driver", "process")
    assert status == 1
    assert "copper@1 [EMT]: broken: STARTUP_FAILED: " in out


@pytest.mark.docker
def test_labels_are_compared_with_an_image(place: World, images: docker.DockerClient) -> None:
    status, out, err = run("verify", "copper@1", "--with", "lambench/emt:latest", "--driver", "docker")
    assert status == 0, out + err
    assert "copper@1 [EMT] stress: correlation 1.0000, slope 1 (6 of 6 frames)" in out
